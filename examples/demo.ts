/**
 * `npm run demo`: release notes from the history of this repository; `npm run demo -- agent`: an agent that reviews one;
 * `npm run demo -- hosts`: a hundred runs over a Restate server whose endpoints are killed; `npm run demo -- fleet`: workers over one Postgres,
 * killed at random; `npm run demo -- studio`: runs to look at, in a browser; `npm run demo -- deploy`: five changes of code, checked against forty runs
 * that wait; `npm run demo -- limits`: limits over all workers, counted from outside; `npm run demo -- experiment`: forty recorded reviews
 * under a cheaper model and a worse prompt, with nothing done again.
 */
const [name = ''] = process.argv.slice(2);
const others: Readonly<Record<string, () => Promise<unknown>>> = {
  agent: () => import('./repo-review/demo.ts'),
  hosts: () => import('./hosts/demo.ts'),
  fleet: () => import('./fleet/demo.ts'),
  deploy: () => import('./deploys/demo.ts'),
  limits: () => import('./limits/demo.ts'),
  experiment: () => import('./repo-review/experiment.ts'),
  studio: () => import('./studio/demo.ts'),
};
const other = Object.hasOwn(others, name) ? others[name] : undefined;
if (other !== undefined) process.argv.splice(2, 1);
const demo = other ?? (() => import('./release-notes/demo.ts'));
await demo();
