/** Says in words why a file cannot be read or written. */

const reading: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'that is not permitted',
};

/** What is written has no file yet, so that it is the folder that is missing. */
const writing: Readonly<Record<string, string>> = {
  ...reading,
  ENOENT: 'its folder is not there',
  EEXIST: 'it exists',
};

/** @param error - what Node threw; what is not among the usual reasons is told as Node says it */
export function fileFault(error: unknown, act: 'read' | 'write'): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return (act === 'read' ? reading : writing)[code] ?? message;
}
