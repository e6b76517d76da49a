/** What the build changes in the code it bundles. Lines stay where they are, so source maps stay true. */
import { basename, join } from 'node:path';
import type { Plugin } from 'rolldown';
import { minifySync } from 'rolldown/utils';

/**
 * Functions whose modules of Node are loaded when one is first called: most starts need neither the network nor other processes, and with
 * all of these a start takes a quarter more than bare Node.
 */
const loadedWhenCalled: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['fork', 'spawn'],
  'node:dns': ['lookup'],
  'node:http': ['createServer'],
  'node:net': ['isIP'],
  'node:readline': ['createInterface'],
  'node:timers/promises': ['setTimeout'],
  'node:tty': ['isatty'],
  'node:v8': ['getHeapStatistics'],
  'node:vm': ['runInNewContext'],
};

/** What stands in place of `import { name as local } from "module"`. */
function takeByCall(module: string, imported: string): string {
  const [name = '', local = name] = imported.trim().split(' as ');
  const taken = `process.getBuiltinModule("${module}")`;
  return loadedWhenCalled[module]?.includes(name) === true
    ? `const ${local} = (...args) => ${taken}.${name}(...args);`
    : `const { ${name === local ? name : `${name}: ${local}`} } = ${taken};`;
}

/**
 * Takes Node's modules by a call in place of an import. An import of one reads each of its exports, and so loads half of Node:
 * `node:fs` alone brings the streams with it, a twentieth of what a short process takes.
 */
export const builtinsByCall: Plugin = {
  name: 'builtins-by-call',
  renderChunk(code, { fileName }) {
    const called = code.replaceAll(
      /^import (?:(?:\* as )?([\w$]+)(?:, )?)?(?:\{(.*)\})? from "(node:[\w/]+)";$/gm,
      (_, whole: string | undefined, names: string | undefined, module: string) => {
        const all = whole === undefined ? [] : [`const ${whole} = process.getBuiltinModule("${module}");`];
        if (names === undefined) return all.join(' ');
        const list = names.split(',');
        if (loadedWhenCalled[module] !== undefined) all.push(...list.map((name) => takeByCall(module, name)));
        else all.push(`const {${names.replaceAll(' as ', ': ')}} = process.getBuiltinModule("${module}");`);
        return all.join(' ');
      },
    );
    if (/^import\b.*"node:/m.test(called))
      throw new Error(`${fileName} imports a module of Node in a form not known here`);
    return { code: called, map: null };
  },
};

/**
 * Packages that are bundled may `require` modules of Node. The bundler takes `require` from the path of its own file, which a bundle of
 * another program has not; nothing but modules of Node remains to be required.
 */
export const requireByCall: Plugin = {
  name: 'require-by-call',
  renderChunk(code, { fileName }) {
    const called = code
      .replace(/^import \{ createRequire \} from "node:module";$/m, '')
      .replace(/\(\(\) => createRequire\(import\.meta\.url\)\)\(\)/, '(name) => process.getBuiltinModule(name)');
    if (/\bcreateRequire\(import\.meta/.test(called)) throw new Error(`${fileName} requires in a form not known here`);
    return { code: called, map: null };
  },
};

/**
 * Takes Node's modules, and modules of dist/ that are built beside the bundle, where they are used, in a bundle of commands that only read:
 * most need no `node:crypto`, which brings the streams, and no expressions.
 */
export const requiredWhenUsed: Plugin = {
  name: 'required-when-used',
  renderChunk(code, { fileName }) {
    const taken: [string, string, string][] = [];
    const without = code.replaceAll(
      /^let (\w+) = require\("((?:node:|\.\.\/)[\w/.]+)"\);$/gm,
      (_, name: string, module: string) => {
        taken.push([name, module, module.startsWith('node:') ? 'process.getBuiltinModule' : 'require']);
        return '';
      },
    );
    const used = taken.reduce(
      (text, [name, module, load]) => text.replaceAll(new RegExp(`\\b${name}\\.`, 'g'), `(${load}("${module}")).`),
      without,
    );
    const left = taken.find(([name]) => new RegExp(`\\b${name}\\b`).test(used));
    if (left !== undefined) throw new Error(`${fileName} uses ${left[1]} in a form not known here`);
    return { code: used, map: null };
  },
};

/**
 * Writes what is not ASCII as escapes. One character beyond Latin-1 makes V8 keep the whole file in two bytes a character, which is
 * slower to read and takes twice the memory.
 */
export const asciiOnly: Plugin = {
  name: 'ascii-only',
  renderChunk(code) {
    const escaped = code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    return { code: escaped, map: null };
  },
};

/**
 * Before the message of an error that nobody catches, Node prints the line that threw it. Of a library's line a user learns nothing, so
 * each line that throws or makes an error carries the words by which Node leaves it out.
 */
export const noSourceLines: Plugin = {
  name: 'no-source-lines',
  renderChunk(code) {
    const marked = code.replaceAll(/^.*(?:\bthrow |\bnew \w*Error\().*$/gm, '$& // node-do-not-add-exception-line');
    return { code: marked, map: null };
  },
};

/**
 * A thirtieth of the package would be tabs: its lines stay, and maps tell where each is in the sources. No source has a tab at the start of
 * a line.
 */
export const noIndentation: Plugin = {
  name: 'no-indentation',
  renderChunk: (code) => ({ code: code.replaceAll(/^\t+/gm, ''), map: null }),
};

/**
 * Gives local variables and functions of bundled packages names of a letter or two, which makes our package a twelfth smaller: nobody
 * debugs theirs in it. Classes keep their names, which programs read; the layout stays, so that each line still has its place in a source
 * map.
 */
export const shortLocals: Plugin = {
  name: 'short-locals',
  transform: {
    filter: { id: /\/node_modules\/.*\.[cm]?js$/ },
    handler(source, id) {
      const { code, map, errors } = minifySync(id, source, {
        compress: true,
        mangle: { keepNames: { function: false, class: true } },
        codegen: { removeWhitespace: false },
        sourcemap: true,
      });
      if (errors.length > 0) throw new Error(`${id}: ${errors[0]?.message}`);
      return { code, map: map ?? null };
    },
  },
};

/**
 * Lets a bundle take modules of dist/ that are built beside it, in place of bundling them once more: some by a dynamic import, others
 * wherever they are imported.
 */
export function importFromModules(source: string, modules: readonly string[], everywhere: readonly string[]): Plugin {
  return {
    name: 'import-from-modules',
    async resolveId(id, importer, options) {
      const known = options.kind === 'dynamic-import' ? [...modules, ...everywhere] : everywhere;
      if (!known.some((name) => `${name}.ts`.endsWith(basename(id)))) return null;
      const target = await this.resolve(id, importer, { ...options, skipSelf: true });
      const module = known.find((name) => target?.id === join(source, `${name}.ts`));
      return module === undefined ? null : { id: `../${module}.js`, external: true };
    },
  };
}
