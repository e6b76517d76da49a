/** Keeps the protocol's stream to the protocol. */
import { Writable } from 'node:stream';

/**
 * Takes standard output for the protocol: whatever else is written to it in this process (console.log of a user's module) goes to
 * standard error from now on.
 */
export function takeStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      write(chunk, (error) => done(error));
    },
  });
}
