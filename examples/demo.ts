/** `npm run demo`: release notes from the history of this repository; `npm run demo -- agent`: an agent that reviews one. */
const agent = process.argv.indexOf('agent', 2);
if (agent === 2) {
  process.argv.splice(agent, 1);
  await import('./repo-review/demo.ts');
} else await import('./release-notes/demo.ts');
