/** Reads the tables of ARCHITECTURE.md, `| folder | may import |` and one of rooms a folder, and answers who may import whom. */

const doors: readonly string[] = ['cli', 'mcp', 'http'];

type Rule = {
  /** Folders that may be imported, or everything but the doors. */
  readonly allowed: ReadonlySet<string> | 'all-but-doors';
  /** What single subfolders may import besides. */
  readonly extra: ReadonlyMap<string, ReadonlySet<string>>;
};

export type ImportTable = ReadonlyMap<string, Rule>;

function splitWords(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '' && word !== '-');
}

/** `state also graph` or `code also ports engine: why` → the folder (or subfolder) and what it may import besides. */
function readExtra(
  clause: string | undefined,
): { readonly name: string; readonly folders: ReadonlySet<string> } | undefined {
  const match = /^(\S+) also ([^:]+)/.exec(clause ?? '');
  return match ? { name: match[1] ?? '', folders: new Set(splitWords(match[2] ?? '')) } : undefined;
}

function readRow(names: readonly string[], cell: string): (readonly [string, Rule])[] {
  if (cell === 'everything but the doors')
    return names.map((name) => [name, { allowed: 'all-but-doors', extra: new Map() }]);
  const [, words = '', clause] = /^([^(]*)(?:\((.*)\))?$/.exec(cell) ?? [];
  const extra = readExtra(clause);
  if (clause !== undefined && extra === undefined) throw new Error(`ARCHITECTURE.md: cannot read (${clause})`);
  return names.map((name) => {
    const allowed = new Set(splitWords(words));
    if (extra === undefined) return [name, { allowed, extra: new Map() }];
    if (extra.name === name) return [name, { allowed: new Set([...allowed, ...extra.folders]), extra: new Map() }];
    return [name, { allowed, extra: new Map(names.includes(extra.name) ? [] : [[extra.name, extra.folders]]) }];
  });
}

/** The cells of the table whose first column has this header; undefined: there is none. */
function readRows(markdown: string, firstColumn: string): readonly (readonly string[])[] | undefined {
  const lines = markdown.split('\n');
  const header = lines.findIndex((line) => {
    const [, first, second] = line.split('|').map((cell) => cell.trim());
    return first === firstColumn && second === 'may import';
  });
  if (header === -1) return undefined;
  const rest = lines.slice(header + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end === -1 ? undefined : end).map((line) => line.split('|').map((cell) => cell.trim()));
}

/** @throws Error when the table is missing, cannot be read, or names a folder it has no row for */
export function readImportTable(markdown: string): ImportTable {
  const rows = readRows(markdown, 'folder');
  if (rows === undefined) throw new Error('ARCHITECTURE.md has no table `| folder | may import |`');
  const table = new Map(rows.flatMap(([, names = '', cell = '']) => readRow(splitWords(names), cell)));
  for (const { allowed, extra } of table.values()) {
    const named = [
      ...(allowed === 'all-but-doors' ? [] : allowed),
      ...[...extra.values()].flatMap((folders) => [...folders]),
    ];
    const unknown = named.find((folder) => !table.has(folder));
    if (unknown !== undefined)
      throw new Error(`ARCHITECTURE.md: "${unknown}" is named in the import table but has no row`);
  }
  return table;
}

/** The folder of a path in src; a file directly in src is a folder of its own: `src/errors.ts` → `errors`. */
export function folderOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}

/** Whether a source file may import another; both are paths from the root, such as `src/graph/edge.ts`. */
export function allows(table: ImportTable, from: string, to: string): boolean {
  if (!to.startsWith('src/')) return false;
  const [source, target] = [folderOf(from), folderOf(to)];
  if (source === target) return true;
  const rule = table.get(source);
  if (rule === undefined) return false;
  if (rule.allowed === 'all-but-doors') return !doors.includes(target);
  const subfolder = (from.split('/')[2] ?? '').replace(/\.ts$/, '');
  return rule.allowed.has(target) || rule.extra.get(subfolder)?.has(target) === true;
}

/** Of a folder that is divided into rooms: what each room may import of the others. `everything`: the roof. */
export type RoomTable = ReadonlyMap<string, ReadonlySet<string> | 'everything'>;

/**
 * Reads the table `| room of FOLDER | may import |`. A room is a folder, or a file that stands beside the folders.
 * @param folder - from the root: `src/engine`
 * @throws Error when the table is missing or names a room it has no row for
 */
export function readRoomTable(markdown: string, folder: string): RoomTable {
  const rows = readRows(markdown, `room of ${folder}`);
  if (rows === undefined) throw new Error(`ARCHITECTURE.md has no table \`| room of ${folder} | may import |\``);
  const table = new Map(
    rows.flatMap(([, names = '', cell = '']) => {
      const allowed = cell === 'everything' ? cell : new Set(splitWords(cell));
      return splitWords(names).map((name) => [name, allowed] as const);
    }),
  );
  for (const allowed of table.values()) {
    const unknown = allowed === 'everything' ? undefined : [...allowed].find((room) => !table.has(room));
    if (unknown !== undefined) throw new Error(`ARCHITECTURE.md: "${unknown}" is no room of ${folder}`);
  }
  return table;
}

/** Folders that have a table of rooms, as ARCHITECTURE.md names them. */
export function foldersWithRooms(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^\|\s*room of (\S+)\s*\|\s*may import\s*\|/gm)].map(([, folder]) => folder ?? '');
}

/** The room of a file below a folder: the name of the folder it is in, or its own: `src/engine/api.ts` → `api`. */
export function roomOf(folder: string, path: string): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  return (path.slice(folder.length + 1).split('/')[0] ?? '').replace(/\.ts$/, '');
}
