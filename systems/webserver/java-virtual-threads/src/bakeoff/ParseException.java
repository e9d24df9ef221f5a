package bakeoff;

/** The bytes are not a request that we serve. The message is the name of the error, the same in all languages. */
public final class ParseException extends Exception {
    private static final long serialVersionUID = 1L;

    ParseException(String name) {
        // No stack trace: this is an answer, not a fault of the program, and it has to be cheap.
        super(name, null, false, false);
    }
}
