"""The web pages over the store (`bakeoff serve`), and the door through which other machines send runs."""
