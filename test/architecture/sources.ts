/** Reads source files: what each imports, its code without comments, its size. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'oxc-parser';
import { roomOf } from './import-table.ts';

export type Import = {
  /** Path from the root of the file imported, for a relative import. */
  readonly target: string | undefined;
  /** Name of the package imported, for one of a third party. */
  readonly packageName: string | undefined;
  readonly isTypeOnly: boolean;
  readonly line: number;
};

export type Source = {
  /** Path from the root, with `/`. */
  readonly path: string;
  readonly folder: string;
  readonly imports: readonly Import[];
  /** The text with comments blanked out, line for line. */
  readonly code: string;
  readonly lineCount: number;
  readonly hasDefaultExport: boolean;
};

type Request = { readonly specifier: string; readonly start: number; readonly isTypeOnly: boolean };

function readRequests(text: string, code: string, module: ReturnType<typeof parseSync>['module']): Request[] {
  const requests: Request[] = module.staticImports.map(({ moduleRequest, entries, start }) => ({
    specifier: moduleRequest.value,
    start,
    isTypeOnly: entries.length > 0 && entries.every(({ isType }) => isType),
  }));
  for (const { entries, start } of module.staticExports) {
    const specifier = entries.find(({ moduleRequest }) => moduleRequest !== null)?.moduleRequest?.value;
    if (specifier !== undefined) requests.push({ specifier, start, isTypeOnly: entries.every(({ isType }) => isType) });
  }
  for (const { moduleRequest, start } of module.dynamicImports) {
    const literal = /^['"`]([^'"`$]+)['"`]$/.exec(text.slice(moduleRequest.start, moduleRequest.end));
    if (literal?.[1] !== undefined) requests.push({ specifier: literal[1], start, isTypeOnly: false });
  }
  // A worker or a child process is started from a file named this way.
  for (const match of code.matchAll(/new URL\(\s*'(\.[^']+)',\s*import\.meta\.url/g)) {
    requests.push({ specifier: match[1] ?? '', start: match.index, isTypeOnly: false });
  }
  return requests;
}

function packageNameOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:') || builtinModules.includes(specifier))
    return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function readSource(root: string, path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const { module, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const code = comments.reduce(
    (rest, { start, end }) => rest.slice(0, start) + rest.slice(start, end).replace(/[^\n]/g, ' ') + rest.slice(end),
    text,
  );
  return {
    path,
    folder: roomOf('src', path) ?? '',
    imports: readRequests(text, code, module).map(({ specifier, start, isTypeOnly }) => ({
      target: specifier.startsWith('.') ? normalize(join(dirname(path), specifier)).replaceAll('\\', '/') : undefined,
      packageName: packageNameOf(specifier),
      isTypeOnly,
      line: text.slice(0, start).split('\n').length,
    })),
    code,
    lineCount: text.replace(/\n$/, '').split('\n').length,
    hasDefaultExport: module.staticExports.some(({ entries }) =>
      entries.some(({ exportName }) => (exportName.kind as string) === 'Default'),
    ),
  };
}

/** All TypeScript files of some folders, in order of path; a folder that is not there has none. */
export function readSources(root: string, folders: readonly string[]): Source[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted()
    .map((path) => readSource(root, path));
}

/** Import cycles between files, each as `a.ts → b.ts → a.ts`. An import of types alone counts: who reads one file must read the other. */
export function findCycles(sources: readonly Source[]): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const cycles: string[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    const start = trail.indexOf(path);
    if (start !== -1) cycles.push([...trail.slice(start), path].join(' → '));
    if (start !== -1 || done.has(path)) return;
    trail.push(path);
    for (const { target } of byPath.get(path)?.imports ?? []) {
      if (target !== undefined) visit(target);
    }
    trail.pop();
    done.add(path);
  };
  for (const { path } of sources) visit(path);
  return cycles;
}
