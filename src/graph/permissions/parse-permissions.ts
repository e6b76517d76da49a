/** Parses permissions given as text: `shell,net=host,fs=/path,env=NAME,model=NAME,sqlite,inline`. */
import { CairnError } from '../../errors.ts';
import { nearest } from '../nearest.ts';
import type { Permissions } from './permissions.ts';

/** The permissions that an option grants. */
export interface Grants {
  readonly permissions: Permissions;
  /** Whether workflows that are given as text may be run at all. */
  readonly inline: boolean;
}

const kinds = ['shell', 'net', 'fs', 'env', 'model', 'sqlite', 'inline'] as const;
/** Grants that take no value. */
const plain: readonly string[] = ['shell', 'sqlite', 'inline'];

/**
 * Parses grants, separated by commas: `shell`, `sqlite`, `inline`, `net`, `net=HOST`, `fs`, `fs=/FOLDER`, `env`, `env=NAME`, `model` or
 * `model=NAME`. Without a value, everything of its kind is granted. Several texts are combined.
 * @throws CONFIG_INVALID names the grant that cannot be parsed
 */
export function parsePermissions(texts: readonly string[]): Grants {
  const lists = {
    net: new Set<string>(),
    fs: new Set<string>(),
    env: new Set<string>(),
    model: new Set<string>(),
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
  const [net, fs, env, model] = [granted('net'), granted('fs'), granted('env'), granted('model')];
  return {
    permissions: {
      ...(whole.has('shell') && { shell: true }),
      ...(net !== undefined && { net }),
      ...(fs !== undefined && { fs }),
      ...(env !== undefined && { env }),
      ...(model !== undefined && { model }),
      ...(whole.has('sqlite') && { sqlite: true }),
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
