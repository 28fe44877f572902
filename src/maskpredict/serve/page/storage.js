// Browsers may forbid storage altogether (private windows, strict settings); then the page simply forgets.

function guarded(find) {
  return {
    read(key) {
      try {
        return find().getItem(key);
      } catch {
        return null;
      }
    },
    write(key, value) {
      try {
        if (value === null) find().removeItem(key);
        else find().setItem(key, value);
      } catch {
        // Nothing depends on being remembered.
      }
    },
  };
}

/** Kept for good. */
export const remembered = guarded(() => window.localStorage);
/** Kept until the tab is closed. */
export const thisTab = guarded(() => window.sessionStorage);
