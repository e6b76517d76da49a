/**
 * Writes the reference of the package as Markdown: for each door a page with all that it exports, from the types and their comments. It
 * needs no network and no tool but the bundler, and holds no links, so none is dead.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** A door of the package: the name that users import, and its file of types. */
export interface ReferenceDoor {
  readonly name: string;
  readonly types: string;
  /** Name of its page, without an ending. */
  readonly page: string;
}

/** What is exported under a name. */
interface Entry {
  readonly about: string;
  readonly code: string;
}

/** The parts of a statement that are read here. */
interface Statement {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly declaration?: Declaration | null;
  readonly specifiers?: readonly { readonly local: Named; readonly exported?: Named; readonly imported?: Named }[];
  readonly source?: { readonly value: string } | null;
}

interface Named {
  readonly name?: string;
  readonly value?: string;
}

interface Declaration {
  readonly id?: Named | null;
  readonly declarations?: readonly { readonly id: Named }[];
}

const nameOf = ({ name, value }: Named): string => name ?? value ?? '';

/** A comment without its stars, and names in braces as code. */
function readComment(before: string): string {
  const [, text = ''] = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*$/.exec(before) ?? [];
  return text
    .replaceAll(/^[ \t]*\* ?/gm, '')
    .replaceAll(/\{@link ([^}|]+)(?:\|[^}]*)?\}/g, '`$1`')
    .trim();
}

const isHidden = (line: string): boolean => /^\s*(?:#private;|private |readonly #)/.test(line);

function readCode(text: string): string {
  const code = text.replace(/^(?:export |default |declare )+/, '').split('\n');
  return code.filter((line) => !isHidden(line)).join('\n');
}

/** A file of types: what it declares, and what it hands on. */
class TypesFile {
  readonly path: string;
  readonly #declared = new Map<string, Entry>();
  /** Exported names, with the file and the name there. */
  readonly #exported = new Map<string, { readonly from: string | undefined; readonly name: string }>();
  readonly #imported = new Map<string, { readonly from: string; readonly name: string }>();
  readonly #all: string[] = [];

  constructor(path: string) {
    this.path = path;
    const text = readFileSync(path, 'utf8');
    let end = 0;
    for (const statement of (parseAst(text, { lang: 'dts' }) as unknown as { readonly body: readonly Statement[] })
      .body) {
      const entry = {
        about: readComment(text.slice(end, statement.start)),
        code: readCode(text.slice(statement.start, statement.end)),
      };
      this.#take(statement, entry);
      end = statement.end;
    }
  }

  #take(statement: Statement, entry: Entry): void {
    const { type, declaration, specifiers = [], source } = statement;
    const from = source?.value;
    if (type === 'ImportDeclaration') {
      for (const { local, imported } of specifiers)
        this.#imported.set(nameOf(local), { from: from ?? '', name: nameOf(imported ?? local) });
      return;
    }
    if (type === 'ExportAllDeclaration') return void this.#all.push(from ?? '');
    for (const { local, exported } of specifiers)
      this.#exported.set(nameOf(exported ?? local), { from, name: nameOf(local) });
    const declared = declaration ?? (statement as Declaration);
    for (const { id } of declared.declarations ?? [declared]) {
      if (id === undefined || id === null) continue;
      this.#declare(nameOf(id), entry);
      if (type.startsWith('Export')) this.#exported.set(nameOf(id), { from: undefined, name: nameOf(id) });
    }
  }

  /** Overloads, and a type and a value of one name, are listed together. */
  #declare(name: string, { about, code }: Entry): void {
    const known = this.#declared.get(name);
    const joined = known === undefined ? code : `${known.code}\n${code}`;
    this.#declared.set(name, { about: known === undefined || known.about === '' ? about : known.about, code: joined });
  }

  /** The names that it exports, also those of files that it exports whole. */
  names(files: TypesFiles): readonly string[] {
    return [...this.#exported.keys(), ...this.#all.flatMap((from) => files.of(this.path, from)?.names(files) ?? [])];
  }

  find(name: string, files: TypesFiles): Entry | undefined {
    const exported = this.#exported.get(name);
    if (exported === undefined)
      return this.#all.map((from) => files.of(this.path, from)?.find(name, files)).find((entry) => entry !== undefined);
    if (exported.from !== undefined) return files.of(this.path, exported.from)?.find(exported.name, files);
    const declared = this.#declared.get(exported.name);
    return declared === undefined ? this.#behind(exported.name, files) : this.#whole(declared, files);
  }

  /** What an imported name stands for. */
  #behind(name: string, files: TypesFiles): Entry | undefined {
    const imported = this.#imported.get(name);
    return imported && files.of(this.path, imported.from)?.find(imported.name, files);
  }

  /** With what it is the type of, where that has another name here: a class, say, that is exported under its own name. */
  #whole({ about, code }: Entry, files: TypesFiles): Entry {
    const [, name = ''] = /: typeof (\w+);/.exec(code) ?? [];
    const behind = this.#behind(name, files);
    return behind === undefined ? { about, code } : { about, code: `${code}\n\n// ${name}:\n${behind.code}` };
  }
}

class TypesFiles {
  readonly #files = new Map<string, TypesFile>();

  open(path: string): TypesFile {
    const file = this.#files.get(path) ?? new TypesFile(path);
    this.#files.set(path, file);
    return file;
  }

  /** The file that another imports; undefined for a package. */
  of(path: string, from: string): TypesFile | undefined {
    return from.startsWith('.') ? this.open(resolve(dirname(path), from.replace(/\.[jt]s$/, '.d.ts'))) : undefined;
  }
}

function pageOf(name: string, entries: readonly (readonly [string, Entry])[]): string {
  const parts = entries.map(([entry, { about, code }]) =>
    [`## ${entry}`, ...(about === '' ? [] : [about]), `\`\`\`ts\n${code}\n\`\`\``].join('\n\n'),
  );
  const none = parts.length === 0 ? ['It exports nothing: to import it is what it is for.'] : [];
  return `${[`# ${name}`, ...none, ...parts].join('\n\n')}\n`;
}

/**
 * @param folder - gets a page for each door, and `README.md` with a list of them
 * @throws Error an export was not found
 */
export function writeReference(doors: readonly ReferenceDoor[], folder: string): void {
  const files = new TypesFiles();
  mkdirSync(folder, { recursive: true });
  const listed = doors.map(({ name, types, page }) => {
    const file = files.open(types);
    const entries = [...new Set(file.names(files))].sort().map((entry) => {
      const found = file.find(entry, files);
      if (found === undefined) throw new Error(`${types} exports ${entry}, which was not found`);
      return [entry, found] as const;
    });
    writeFileSync(join(folder, `${page}.md`), pageOf(name, entries));
    return `- [${name}](${page}.md)${entries.length === 0 ? '' : `: ${entries.map(([entry]) => entry).join(', ')}`}`;
  });
  const head = ['# Reference', '', 'What each door of the package exports, from the comments in its code.', ''];
  writeFileSync(join(folder, 'README.md'), [...head, ...listed, ''].join('\n'));
}
