/** Reads a regular file, up to a size limit. Pipes and devices, which could block, are refused. */
import { constants } from 'node:fs';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { describeFileError, fileFailure } from './file-failure.ts';
import { files } from './files.ts';
import { requireGranted, type IsGranted } from './reached-place.ts';

export interface RegularRead {
  readonly limitBytes: number;
  /** Whether to refuse a symbolic link in the path's last part. Default false. */
  readonly refusesLink?: boolean;
  /** Checks the place that is read. */
  readonly isGranted?: IsGranted;
}

/**
 * Reads a file. All failures say that nothing happened. @throws NodeFailure NOT_A_FILE, FILE_TOO_LARGE, PATH_REFUSED, or the code of the
 * operating system
 */
export async function readRegularFile(
  path: string,
  { limitBytes, refusesLink = false, isGranted }: RegularRead,
): Promise<Buffer> {
  const { open } = await files();
  // Without O_NONBLOCK, opening a pipe would wait for someone to write to it.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (refusesLink ? constants.O_NOFOLLOW : 0);
  const file = await open(path, flags).catch((error: unknown) => {
    if (refusesLink && (error as NodeJS.ErrnoException).code === 'ELOOP')
      throw fileFailure('PATH_REFUSED', path, 'is a symbolic link');
    throw describeFileError(error, 'read', path, 'no');
  });
  try {
    await requireGranted(file, path, isGranted);
    const stats = await file.stat();
    if (!stats.isFile()) throw fileFailure('NOT_A_FILE', path, 'is no file');
    if (stats.size > limitBytes) throw fileFailure('FILE_TOO_LARGE', path, `is over the limit of ${limitBytes} bytes`);
    const bytes = await file.readFile();
    if (bytes.length > limitBytes)
      throw fileFailure('FILE_TOO_LARGE', path, `is over the limit of ${limitBytes} bytes`);
    return bytes;
  } catch (error) {
    throw error instanceof NodeFailure ? error : describeFileError(error, 'read', path, 'no');
  } finally {
    await file.close();
  }
}
