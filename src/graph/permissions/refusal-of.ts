/** Checks whether a need is granted (rule Y6 of docs/spec/yaml.md). */
import type { Need } from '../contracts/node-type.ts';
import type { Permissions } from './permissions.ts';

/**
 * Why a need is not granted, with the option that would grant it; undefined if it is granted. A need that is not known before the run
 * counts as granted if anything of its kind is.
 */
export function refusalOf(need: Need, permissions: Permissions): string | undefined {
  switch (need.kind) {
    case 'shell':
      return permissions.shell === true ? undefined : 'it runs commands (--allow shell)';
    case 'net':
      return netRefusal(need.host, permissions.net);
    case 'fs':
      return fsRefusal(need.path, permissions.fs);
    case 'model':
      return modelRefusal(need.name, permissions.model);
    case 'sqlite':
      return permissions.sqlite === true ? undefined : 'it makes a database in memory (--allow sqlite)';
    default:
      return envRefusal(need, permissions.env);
  }
}

function netRefusal(host: string | undefined, granted: Permissions['net']): string | undefined {
  if (granted === true) return undefined;
  if (host === undefined) {
    return (granted ?? []).length > 0 ? undefined : 'it calls servers (--allow net, or net=HOST)';
  }
  const isGranted = (granted ?? []).some((pattern) => fitsHost(host.toLowerCase(), pattern.toLowerCase()));
  return isGranted ? undefined : `it calls ${host} (--allow net=${host})`;
}

/** Whether a host fits a pattern. A pattern without a port allows every port, one with a port only that port. */
function fitsHost(host: string, pattern: string): boolean {
  const [name, port] = splitPort(host);
  const [wanted, wantedPort] = splitPort(pattern);
  if (wantedPort !== undefined && wantedPort !== port) return false;
  return wanted.startsWith('*.') ? name.endsWith(wanted.slice(1)) && name.length > wanted.length - 1 : name === wanted;
}

function splitPort(host: string): readonly [name: string, port: string | undefined] {
  const [, name = host, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  return [name, port];
}

function fsRefusal(path: string | undefined, granted: Permissions['fs']): string | undefined {
  if (granted === true) return undefined;
  const folders = granted ?? [];
  if (path === undefined) return folders.length > 0 ? undefined : 'it reads or writes files (--allow fs=/FOLDER)';
  const parts = partsOf(path);
  const isInside = folders.some((folder) => {
    const wanted = partsOf(folder);
    return wanted !== undefined && parts !== undefined && wanted.every((part, index) => parts[index] === part);
  });
  return isInside ? undefined : `it reads or writes ${path} (--allow fs=${path})`;
}

/**
 * The parts of an absolute path, as its system separates them; undefined if it is not absolute, or if a system would read it differently
 * from how it is written: with `..`, or on Windows with names that it cuts or that name streams. In a path that begins with `/`, a
 * backslash is part of a name.
 */
function partsOf(path: string): readonly string[] | undefined {
  const isPosix = path.startsWith('/');
  if ((!isPosix && !/^[A-Za-z]:[\\/]/.test(path)) || path.includes('\0')) return undefined;
  const parts = path.split(isPosix ? '/' : /[\\/]/).filter((part) => part !== '' && part !== '.');
  const isPlain = (part: string, index: number): boolean =>
    part !== '..' && (isPosix || index === 0 || !/[:*?"<>|]|[. ]$/.test(part));
  return parts.every(isPlain) ? parts : undefined;
}

function envRefusal(need: Extract<Need, { kind: 'env' }>, granted: Permissions['env']): string | undefined {
  if (granted === true || (granted ?? []).includes(need.name)) return undefined;
  return `it is given ${need.name} (--allow env=${need.name})`;
}

function modelRefusal(name: string | undefined, granted: Permissions['model']): string | undefined {
  if (granted === true) return undefined;
  const names = granted ?? [];
  if (name === undefined)
    return names.length > 0 ? undefined : 'it asks a language model (--allow model, or model=NAME)';
  return names.includes(name) ? undefined : `it asks the language model ${name} (--allow model=${name})`;
}
