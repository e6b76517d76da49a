/** The door to what the command line can do. What it loads is loaded when it is opened: a program that only compiles graphs does not carry it. */
import type { Cairn, CairnOptions } from './cairn.ts';

/** Opens a store with the workflows of a folder. @throws CONFIG_INVALID; STORE_* the store cannot be opened */
export async function openCairn(options: CairnOptions = {}): Promise<Cairn> {
  const { openOperations } = await import('./cairn-operations.ts');
  return openOperations(options);
}
