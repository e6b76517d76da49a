/** The store as a process under test reaches it: writes are counted, and nothing comes or goes once the process is dead. */
import type { Store } from '../../ports/store.ts';
import type { Life } from './process-life.ts';

/** Never resolves: what a killed process waits for. */
function never<Value>(): Promise<Value> {
  return new Promise<Value>(() => {});
}

/** Wraps a store for one life of a process. Writes are `admitRun`, `commit` and `postMessage`: what a run is made of. */
export function mortalStore(store: Store, life: Life): Store {
  const write = async <Reply>(call: () => Promise<Reply>): Promise<Reply> => {
    if (life.isDead) return never();
    const fate = life.enter('write');
    if (fate === 'dead') return never();
    const reply = await call();
    if (fate === 'die after') life.kill();
    return life.isDead ? never<Reply>() : reply;
  };
  const alive = async <Reply>(call: () => Promise<Reply>): Promise<Reply> => {
    if (life.isDead) return never();
    const reply = await call();
    return life.isDead ? never<Reply>() : reply;
  };
  return {
    name: store.name,
    capabilities: store.capabilities,
    admitRun: (admission) => write(() => store.admitRun(admission)),
    commit: (commit) => write(() => store.commit(commit)),
    postMessage: (message) => write(() => store.postMessage(message)),
    readRun: (key) => alive(() => store.readRun(key)),
    findRuns: (tenant, prefix, limit) => alive(() => store.findRuns(tenant, prefix, limit)),
    listRuns: (query) => alive(() => store.listRuns(query)),
    removeRun: (key) => alive(() => store.removeRun(key)),
    readIdentity: () => alive(() => store.readIdentity()),
    setIdentity: (identity) => alive(() => store.setIdentity(identity)),
    claimNext: (request) => alive(() => store.claimNext(request)),
    claimRun: (request) => alive(() => store.claimRun(request)),
    renewClaim: (claim) => alive(() => store.renewClaim(claim)),
    releaseClaim: (claim) => alive(() => store.releaseClaim(claim)),
    readCheckpoints: (key, range) => alive(() => store.readCheckpoints(key, range)),
    readSnapshot: (key, atOrBefore) => alive(() => store.readSnapshot(key, atOrBefore)),
    writeSnapshot: (key, snapshot) => alive(() => store.writeSnapshot(key, snapshot)),
    readMessages: (key) => alive(() => store.readMessages(key)),
    listWaits: (query) => alive(() => store.listWaits(query)),
    tagCheckpoint: (key, tag) => alive(() => store.tagCheckpoint(key, tag)),
    removeTag: (key, name) => alive(() => store.removeTag(key, name)),
    readTags: (key) => alive(() => store.readTags(key)),
    pruneRun: (prune) => alive(() => store.pruneRun(prune)),
    close: () => alive(() => store.close()),
  };
}
