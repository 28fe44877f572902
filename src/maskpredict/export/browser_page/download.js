// Files with word of how much of them has come.

/** The bytes of every file by name; `sizes` are those they will have, `onProgress(loaded, total)` counts all together. */
export async function download(base, sizes, onProgress) {
  const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  let loaded = 0;
  const count = (bytes) => onProgress((loaded += bytes), total);
  const files = await Promise.all(Object.keys(sizes).map(async (name) => [name, await file(name, base, count)]));
  return Object.fromEntries(files);
}

async function file(name, base, count) {
  const response = await fetch(new URL(name, base));
  if (!response.ok) throw new Error(`${name} could not be loaded (${response.status}).`);
  const parts = [];
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    count(value.length);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
