/**
 * `npm run demo`: release notes from the history of this repository; `npm run demo -- agent`: an agent that reviews one;
 * `npm run demo -- hosts`: a hundred runs over a Restate server whose endpoints are killed.
 */
const [, , name] = process.argv;
if (name === 'agent' || name === 'hosts') process.argv.splice(2, 1);
if (name === 'agent') await import('./repo-review/demo.ts');
else if (name === 'hosts') await import('./hosts/demo.ts');
else await import('./release-notes/demo.ts');
