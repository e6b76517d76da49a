/** Imports a module of the user. A file of its own: the bundles keep this one `import` as it is, so that it can load any kind of module. */

/** @param url - a `file:` URL */
export function importModule(url: string): Promise<Readonly<Record<string, unknown>>> {
  return import(url) as Promise<Readonly<Record<string, unknown>>>;
}
