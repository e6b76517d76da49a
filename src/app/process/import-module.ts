/**
 * Imports a module of the user. It is a file of its own because bundling must leave this one `import` as it is, so that any kind of module
 * can be loaded.
 */

/** @param url - a `file:` URL */
export function importModule(url: string): Promise<Readonly<Record<string, unknown>>> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ url) as Promise<
    Readonly<Record<string, unknown>>
  >;
}
