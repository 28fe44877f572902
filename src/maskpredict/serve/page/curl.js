// The last request as a command, to be repeated from a terminal.

/** A string as one word of a POSIX shell. */
export function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command for a POST of `body`; a key is not part of it. */
export function curlCommand(address, body) {
  return [
    `curl ${shellQuoted(String(address))} \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d ${shellQuoted(JSON.stringify(body))}`,
  ].join("\n");
}
