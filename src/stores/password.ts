/** Where stores on servers have their passwords from. */
import { readFileSync } from 'node:fs';
import { CairnError } from '../errors.ts';

/** Reads a password from CAIRN_STORE_PASSWORD, or from the file that CAIRN_STORE_PASSWORD_FILE names, without its line end. */
export function passwordFrom(environment: Readonly<Record<string, string | undefined>>): () => string | undefined {
  return () => {
    const { CAIRN_STORE_PASSWORD: password, CAIRN_STORE_PASSWORD_FILE: file } = environment;
    if (password !== undefined || file === undefined || file === '') return password;
    try {
      return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      const reason = `the file cannot be read: ${(error as Error).message}`;
      throw new CairnError('CONFIG_INVALID', { path: 'CAIRN_STORE_PASSWORD_FILE', reason }, { cause: error });
    }
  };
}
