/** Names of files that are programs: their graphs are loaded, and not read. */
const module = /\.[cm]?[jt]s$/i;

export const isModule = (file: string): boolean => module.test(file);
