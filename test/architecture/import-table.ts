/** Reads `imports.yaml`: for each folder that is divided into rooms, what each room may import of the others. */
import { parse } from 'yaml';

type Rooms = ReadonlyMap<string, ReadonlySet<string>>;

/** By folder, from the root: `src`, `src/engine`. */
export type ImportTables = ReadonlyMap<string, Rooms>;

function splitWords(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '' && word !== '-');
}

/** @throws Error when a table is no map of texts, or names a room that it has no row for */
export function readImportTables(text: string): ImportTables {
  const tables = parse(text) as Readonly<Record<string, Readonly<Record<string, string>>>>;
  return new Map(Object.entries(tables).map(([folder, rows]) => [folder, readRooms(folder, rows)]));
}

function readRooms(folder: string, rows: Readonly<Record<string, string>>): Rooms {
  const names = new Set(Object.keys(rows).flatMap(splitWords));
  const checked = (words: string): string[] => {
    const unknown = splitWords(words).find((word) => !names.has(word));
    if (unknown !== undefined) throw new Error(`imports.yaml: "${unknown}" is no room of ${folder}`);
    return splitWords(words);
  };
  return new Map(
    Object.entries(rows).flatMap(([key, cell]) => {
      const [, but] = /^everything(?: but (.+))?$/.exec(cell) ?? [undefined, undefined];
      const excepted = checked(but ?? '');
      const allowed = cell.startsWith('everything')
        ? new Set([...names].filter((name) => !excepted.includes(name)))
        : new Set(checked(cell));
      return splitWords(key).map((name) => [name, allowed] as const);
    }),
  );
}

/** The room of a file below a folder: the name of the folder it is in, or its own: `src/engine/api.ts` → `api`. */
export function roomOf(folder: string, path: string): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  return (path.slice(folder.length + 1).split('/')[0] ?? '').replace(/\.ts$/, '');
}

/** The folders in which a source file is in no room; the path is from the root, such as `src/graph/edge.ts`. */
export function foldersWithoutRoomFor(tables: ImportTables, path: string): readonly string[] {
  return [...tables].flatMap(([folder, rooms]) => {
    const room = roomOf(folder, path);
    return room === undefined || rooms.has(room) ? [] : [folder];
  });
}

/** Whether a source file may import another. A row of a part, `dialects/code`, stands before that of its room. */
export function allows(tables: ImportTables, from: string, to: string): boolean {
  if (!to.startsWith('src/')) return false;
  return [...tables].every(([folder, rooms]) => {
    const [source, target] = [roomOf(folder, from), roomOf(folder, to)];
    if (source === undefined || target === undefined || source === target) return true;
    const part = `${source}/${roomOf(`${folder}/${source}`, from)}`;
    return (rooms.get(part) ?? rooms.get(source))?.has(target) === true;
  });
}
