// The page's end of the line to the worker that has the model.

/**
 * `onLoading(loaded, total)` counts bytes until all are there, `onReady()` says that the model can be asked, and
 * `onFailed(sentence)` that it never will.
 */
export function createEngine({ onLoading, onReady, onFailed }) {
  const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  let question = { number: 0 };

  worker.addEventListener("error", (event) => onFailed(event.message || "The model could not be started."));
  worker.addEventListener("message", ({ data }) => {
    if (data.total) onLoading(data.loaded, data.total);
    else if (data.ready) onReady();
    else if (data.failed) onFailed(data.failed);
    else if (data.number === question.number) hear(data); // else somebody has asked something else since
  });

  function hear({ progress, answer, error }) {
    if (progress) question.onProgress?.(progress);
    else if (error) question.onTrouble(error);
    else question.onAnswer(answer);
  }

  /** Asks the worker for one of its verbs; an earlier question is dropped. */
  function ask(verb, given, { onAnswer, onTrouble, onProgress }) {
    question = { number: question.number + 1, onAnswer, onTrouble, onProgress };
    worker.postMessage({ number: question.number, verb, given });
  }

  /** Drops the question, if there is one. */
  function forget() {
    question = { number: question.number + 1 };
    worker.postMessage({ number: question.number });
  }

  return { ask, forget };
}
