/** What workflows may use of the machine and the network, as granted by the operator of the process. By default, nothing. */
import { CairnError } from '../../errors.ts';
import { nearest } from '../nearest.ts';
import type { Need } from '../contracts/node-type.ts';

/** Grants. What is absent is not granted. */
export interface Permissions {
  readonly shell?: boolean;
  /** Hosts (`example.org`, `*.example.org`, `localhost:8080`), or `true` for any. */
  readonly net?: true | readonly string[];
  /** Absolute folders, which include everything below them, or `true` for any path. */
  readonly fs?: true | readonly string[];
  /** Names of environment variables and secrets, or `true` for any. */
  readonly env?: true | readonly string[];
  /** Profiles of language models, models as `provider:name`, or `true` for any. */
  readonly model?: true | readonly string[];
  /** In-memory databases. */
  readonly sqlite?: boolean;
  /** Sandboxes, which reach nothing but their folders. With a network, all hosts must be granted too. */
  readonly sandbox?: boolean;
  /** Names of the operator's own workflows, which then do all that they say, or `true` for any. */
  readonly workflow?: true | readonly string[];
  /** Paths of the operator's own modules, as runs record them, or `true` for any. */
  readonly module?: true | readonly string[];
}

/** All permissions, for workflows that the operator chose. */
export const everythingAllowed: Permissions = Object.freeze({
  shell: true,
  net: true,
  fs: true,
  env: true,
  model: true,
  sqlite: true,
  sandbox: true,
  workflow: true,
  module: true,
});

// Parses permissions from a text: `shell,net=host,fs=/path,env=NAME,model=NAME,sqlite,sandbox,workflow=NAME,module=PATH,inline`.

/** The permissions that an option grants. */
export interface Grants {
  readonly permissions: Permissions;
  /** Whether workflows that are passed as text may be run at all. */
  readonly inline: boolean;
}

const kinds = ['shell', 'net', 'fs', 'env', 'model', 'sqlite', 'sandbox', 'workflow', 'module', 'inline'] as const;
/** Grants that take no value. */
const plain: readonly string[] = ['shell', 'sqlite', 'sandbox', 'inline'];

/**
 * Parses grants, separated by commas: `shell`, `sqlite`, `sandbox`, `inline`, `net`, `net=HOST`, `fs`, `fs=/FOLDER`, `env`, `env=NAME`, `model`,
 * `model=NAME`, `workflow`, `workflow=NAME`, `module` or `module=PATH`. Without a value, everything of its kind is granted. Several texts are combined.
 * @throws CONFIG_INVALID names the grant that cannot be parsed
 */
export function parsePermissions(texts: readonly string[]): Grants {
  const lists = {
    net: new Set<string>(),
    fs: new Set<string>(),
    env: new Set<string>(),
    model: new Set<string>(),
    workflow: new Set<string>(),
    module: new Set<string>(),
  };
  const whole = new Set<string>();
  for (const grant of texts.flatMap((text) => text.split(',')).map((text) => text.trim())) {
    if (grant === '') continue;
    const at = grant.indexOf('=');
    const kind = at < 0 ? grant : grant.slice(0, at);
    const value = at < 0 ? undefined : grant.slice(at + 1).trim();
    checkGrant(grant, kind, value);
    if (value === undefined) whole.add(kind);
    else lists[kind as keyof typeof lists].add(value);
  }
  const granted = (kind: keyof typeof lists): true | readonly string[] | undefined =>
    whole.has(kind) ? true : lists[kind].size > 0 ? [...lists[kind]] : undefined;
  const named = (Object.keys(lists) as (keyof typeof lists)[]).flatMap((kind) => {
    const value = granted(kind);
    return value === undefined ? [] : [[kind, value] as const];
  });
  return {
    permissions: {
      ...(whole.has('shell') && { shell: true }),
      ...Object.fromEntries(named),
      ...(whole.has('sqlite') && { sqlite: true }),
      ...(whole.has('sandbox') && { sandbox: true }),
    },
    inline: whole.has('inline'),
  };
}

function checkGrant(grant: string, kind: string, value: string | undefined): void {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { path: '--allow', reason });
  };
  if (!kinds.some((known) => known === kind)) {
    const near = nearest(kind, kinds);
    refuse(
      `there is no grant ${grant}${near === undefined ? '' : `; did you mean ${near}?`} Grants are: ${kinds.join(', ')}`,
    );
  }
  if (value === undefined) return;
  if (plain.includes(kind)) refuse(`${kind} takes no value`);
  if (value === '') refuse(`${grant} names nothing`);
  if (kind === 'fs' && !/^(\/|[A-Za-z]:[\\/])/.test(value)) refuse(`${grant} is no absolute folder`);
  if (kind === 'net' && /[\s/]/.test(value)) refuse(`${grant} is no host; write net=example.org or net=localhost:8080`);
}

// Checks whether a need is granted (rule Y6 of docs/spec/yaml.md).

/**
 * Why a need is not granted, with the option that would grant it; undefined if it is granted. A need that is not known before the run
 * counts as granted if anything of its kind is.
 */
export function refusalOf(need: Need, permissions: Permissions): string | undefined {
  switch (need.kind) {
    case 'shell':
      return permissions.shell === true ? undefined : 'it runs commands (--allow shell)';
    case 'net':
      return need.isNamed === true ? namedRefusal(need.host, permissions.net) : netRefusal(need.host, permissions.net);
    case 'fs':
      return fsRefusal(need.path, permissions.fs);
    case 'model':
      return modelRefusal(need.name, permissions.model);
    case 'sqlite':
      return permissions.sqlite === true ? undefined : 'it makes a database in memory (--allow sqlite)';
    case 'sandbox':
      return permissions.sandbox === true ? undefined : 'it runs commands in a sandbox (--allow sandbox)';
    case 'workflow':
      return ownRefusal(need, permissions.workflow);
    case 'module':
      return ownRefusal(need, permissions.module);
    default:
      return envRefusal(need, permissions.env);
  }
}

function netRefusal(host: string | undefined, granted: Permissions['net']): string | undefined {
  if (granted === true) return undefined;
  if (host === '*') return 'it reaches any server (--allow net)';
  if (host === undefined) {
    return (granted ?? []).length > 0 ? undefined : 'it calls servers (--allow net, or net=HOST)';
  }
  const isGranted = (granted ?? []).some((pattern) => fitsHost(host.toLowerCase(), pattern.toLowerCase()));
  return isGranted ? undefined : `it calls ${host} (--allow net=${host})`;
}

/** A host that may be a private one: no grant of all hosts, or of all with an ending, means it. */
function namedRefusal(host: string | undefined, granted: Permissions['net']): string | undefined {
  const named = granted === true ? [] : (granted ?? []).filter((pattern) => !pattern.includes('*'));
  return netRefusal(host, named);
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

/** Whether a workflow or module of the operator may be started by its name. */
function ownRefusal(
  { kind, name }: Extract<Need, { kind: 'workflow' | 'module' }>,
  granted: true | readonly string[] = [],
): string | undefined {
  if (granted === true || (name === undefined ? granted.length > 0 : granted.includes(name))) return undefined;
  return `it runs the ${kind} ${name ?? 'NAME'} of this process (--allow ${kind}=${name ?? 'NAME'})`;
}

function modelRefusal(name: string | undefined, granted: Permissions['model']): string | undefined {
  if (granted === true) return undefined;
  const names = granted ?? [];
  if (name === undefined)
    return names.length > 0 ? undefined : 'it asks a language model (--allow model, or model=NAME)';
  return names.includes(name) ? undefined : `it asks the language model ${name} (--allow model=${name})`;
}
