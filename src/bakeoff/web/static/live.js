// Follows a run: each event brings the progress part of the page, made and escaped by the server.
const part = document.getElementById("live");
if (part && part.dataset.events) {
  const source = new EventSource(part.dataset.events);
  const note = document.getElementById("following");
  source.addEventListener("progress", (event) => {
    part.innerHTML = event.data;
    note.textContent = "This part follows the run.";
  });
  source.addEventListener("end", () => {
    source.close();
    note.textContent = "The run has ended; reload the page for its trials.";
  });
  source.onerror = () => {
    note.textContent = "The server does not answer; trying again.";
  };
}
