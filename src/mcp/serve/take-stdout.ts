/** Reserves stdout for the protocol. */
import { Writable } from 'node:stream';

/**
 * Reserves stdout for the protocol. From now on everything else that this process writes to it, such as console.log in a user's module,
 * goes to stderr.
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
