/** What holds of every connection to Postgres here, whoever made its pool: its errors are heard, and its bytes are read whatever is set. */

/** What is used of a connection: one of `pg` has it. */
interface Connection {
  on?(event: 'error', listener: () => void): unknown;
}

const heardPools = new WeakSet<object>();
const heardConnections = new WeakSet<object>();
const brokenConnections = new WeakSet<object>();

/**
 * Hears the errors of a connection, from now on and once. When one breaks, its statement fails, or the next one; an error event that nobody
 * hears would end the process.
 */
export function hearConnection(connection: Connection): void {
  if (heardConnections.has(connection)) return;
  heardConnections.add(connection);
  connection.on?.('error', () => void brokenConnections.add(connection));
}

/**
 * Hears the errors of a pool and of all its connections. A server may end a connection in the packet of its last reply: between the two
 * there is no turn in which whoever asked for the connection could listen, so it is heard when the pool hands it out.
 */
export function hearPool(pool: object): void {
  const { on } = pool as { readonly on?: unknown };
  if (heardPools.has(pool) || typeof on !== 'function') return;
  heardPools.add(pool);
  // A connection that breaks while nobody uses it is replaced by the pool.
  on.call(pool, 'error', () => undefined);
  on.call(pool, 'acquire', hearConnection);
}

/** Whether a connection has broken. Statements on it fail before they are sent. */
export const isBroken = (connection: object): boolean => brokenConnections.has(connection);

/** Bytes as the server writes them as text: in hex, or, where `bytea_output` is `escape`, with a backslash before what is no letter. */
export function readBytes(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  const unescaped = text.replaceAll(/\\(?:\\|([0-7]{3}))/g, (_, octal: string | undefined) =>
    octal === undefined ? '\\' : String.fromCharCode(parseInt(octal, 8)),
  );
  return Buffer.from(unescaped, 'latin1');
}
