/** The table of all error codes. Codes are API and change only in a major version; messages may change at any time. */

/** Whether trying again can help. `no`: the same call will fail again. `later`: the same call may succeed later. */
export type Retry = 'no' | 'later';

/**
 * One row of the table. In its texts `{name}` is replaced by that value of the error's data. `{before |name}` is omitted if the value is
 * absent, and `{before |name|otherwise}` then gives `otherwise`.
 */
export interface ErrorRow {
  /** HTTP status of the problem+json response. */
  readonly http: number;
  /** Exit code of the command line. */
  readonly exit: number;
  readonly retry: Retry;
  readonly message: string;
  /** What to do next, in one or two sentences. */
  readonly hint: string;
}

const row = (http: number, exit: number, retry: Retry, message: string, hint: string): ErrorRow => ({
  http,
  exit,
  retry,
  message,
  hint,
});

export type ErrorCode =
  | 'GRAPH_INVALID'
  | 'GRAPH_PARSE'
  | 'GRAPH_UNKNOWN_NODE_TYPE'
  | 'CONVERSION_LOSSY'
  | 'CONDITION_SYNTAX'
  | 'CONDITION_FAILED'
  | 'EXPRESSION_FAILED'
  | 'REFERENCE_ABSENT'
  | 'REDUCER_FAILED'
  | 'CONFIG_INVALID'
  | 'CONFIG_MISSING_PEER'
  | 'CODE_NOT_RUN'
  | 'HOST_TOO_SHORT'
  | 'USAGE_INVALID'
  | 'INPUT_INVALID'
  | 'ID_INVALID'
  | 'VALUE_UNSTORABLE'
  | 'VALUE_TOO_LARGE'
  | 'OUTCOME_INVALID'
  | 'ANSWER_RESERVED'
  | 'VALUE_MASKED'
  | 'EXPORT_MASKED'
  | 'CHECKPOINT_TOO_LARGE'
  | 'TEXT_TOO_COSTLY'
  | 'READER_BUSY'
  | 'READ_TOO_COSTLY'
  | 'WORKFLOW_NOT_FOUND'
  | 'DATASET_NOT_FOUND'
  | 'WORKFLOW_CIRCULAR'
  | 'PERMISSION_DENIED'
  | 'RUN_NOT_FOUND'
  | 'RUN_EXPIRED'
  | 'RUN_EXISTS'
  | 'RUN_FINISHED'
  | 'RUN_ENDED'
  | 'RUN_TIMED_OUT'
  | 'RUN_NOT_PAUSED'
  | 'RUN_CANCELLED'
  | 'RUN_GRAPH_CHANGED'
  | 'PREVIEW_CHANGED'
  | 'RUN_LIMIT'
  | 'BUDGET_EXCEEDED'
  | 'RUN_HELD'
  | 'LIMIT_FULL'
  | 'CLAIM_TAKEN'
  | 'CLAIM_LOST'
  | 'CLAIM_FENCED'
  | 'COMMIT_CONFLICT'
  | 'ORIGINAL_CLAIMED'
  | 'PLAN_INVALID'
  | 'SANDBOX_UNAVAILABLE'
  | 'NODE_FAILED'
  | 'NODE_TIMED_OUT'
  | 'NODE_EXITED'
  | 'NODE_KILLED'
  | 'NODE_BLOCKED'
  | 'NODE_CANCELLED'
  | 'NODE_OUTPUT_INVALID'
  | 'NODE_CALL_REFUSED'
  | 'QUESTION_CHANGED'
  | 'SIGNAL_INVALID'
  | 'AGENT_DIVERGED'
  | 'STEPS_CHANGED'
  | 'CASSETTE_MISSING'
  | 'ROUTE_UNKNOWN'
  | 'EFFECT_IN_DOUBT'
  | 'STATE_WRITE_CONFLICT'
  | 'STATE_UNKNOWN_CHANNEL'
  | 'STATE_INVALID'
  | 'WAIT_NOT_FOUND'
  | 'WAIT_CLOSED'
  | 'WAIT_REFUSED'
  | 'ANSWER_INVALID'
  | 'CHECKPOINT_NOT_FOUND'
  | 'CHECKPOINT_AMBIGUOUS'
  | 'CHECKPOINT_PRUNED'
  | 'CHECKPOINT_CORRUPT'
  | 'CHECKPOINT_VERSION_UNKNOWN'
  | 'CHECKPOINT_NEEDED'
  | 'HISTORY_HAS_FORKS'
  | 'STORE_UNAVAILABLE'
  | 'STORE_BUSY'
  | 'STORE_FULL'
  | 'STORE_READ_ONLY'
  | 'STORE_DENIED'
  | 'STORE_CORRUPT'
  | 'STORE_VERSION_UNKNOWN'
  | 'STORE_CLOSED'
  | 'STORE_UNSUPPORTED'
  | 'BLOB_NOT_FOUND'
  | 'FILE_NOT_FOUND'
  | 'BLOB_CORRUPT'
  | 'SECRET_MISSING'
  | 'SECRET_UNAVAILABLE'
  | 'RUNTIME_TOO_OLD'
  | 'SIGNAL_EXISTS'
  | 'REQUEST_MALFORMED'
  | 'TOKEN_NEEDED'
  | 'SCOPE_NEEDED'
  | 'ORIGIN_REFUSED'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_SERVED'
  | 'LINK_CLOSED'
  | 'DELIVERY_UNVERIFIED'
  | 'BODY_TOO_LARGE'
  | 'ANSWER_TOO_LARGE'
  | 'MEDIA_TYPE_UNKNOWN'
  | 'RANGE_INVALID'
  | 'REQUESTS_TOO_MANY'
  | 'INTERNAL';

// prettier-ignore
export const errorTable: Readonly<Record<ErrorCode, ErrorRow>> = {
  GRAPH_INVALID: row(400, 2, 'no', 'graph {graphId} is not valid:{violations}', 'Mend every place listed; all of them are listed.'),
  GRAPH_PARSE: row(400, 2, 'no', 'cannot read {file}{:|line}{: |reason}', '{|hint|Correct the file and run the command again.}'),
  GRAPH_UNKNOWN_NODE_TYPE: row(400, 2, 'no', 'unknown node type {type}{ at |path}', 'Register the node type, or use a known one.'),
  CONVERSION_LOSSY: row(422, 2, 'no', 'not all of {source} carries over to {to}:{violations}', 'Change what is listed, or convert without --strict and see to it in the text that is written.'),
  CONDITION_SYNTAX: row(400, 2, 'no', 'condition {condition} cannot be parsed{: |reason}', '{|hint|Correct the expression.}'),
  CONDITION_FAILED: row(422, 3, 'no', 'a condition of {node}{ -> |edge} failed{: |reason}', 'Correct the condition or the value it reads, then resume the run.'),
  EXPRESSION_FAILED: row(422, 3, 'no', '{text} cannot be evaluated{: |reason}', 'Correct the expression or the value it reads, then resume the run.'),
  REFERENCE_ABSENT: row(422, 3, 'no', '{text} reads {field} of {block}, which {status}', 'Ask blocks.{block}.succeeded or has(…) first, or give default(…, another value).'),
  REDUCER_FAILED: row(422, 3, 'no', 'the reducer of {channel} failed{: |reason}', 'Correct the reducer or the update it was given, then resume the run.'),
  CONFIG_INVALID: row(400, 2, 'no', 'bad configuration{ at |path}{: |reason}', '{|hint|Correct the option named.}'),
  CONFIG_MISSING_PEER: row(400, 2, 'no', 'package {package} is not installed', 'Install it: npm install {package}'),
  CODE_NOT_RUN: row(400, 2, 'no', '{what} is code, and what only reads runs no code', '{|hint|Name the file, if you trust it: --file FILE.}'),
  HOST_TOO_SHORT: row(400, 2, 'no', 'node {node} may take {neededMs} ms, and its host has {maxMs} ms', 'Give the node a shorter timeoutMs, or give the host a longer maxMs.'),
  USAGE_INVALID: row(400, 2, 'no', '{reason}', '{|hint|Run the command with --help.}'),
  INPUT_INVALID: row(400, 2, 'no', 'the input{ of |child} does not fit{ at |path}{: |reason}', 'Give an input that fits the schema; on the command line with --input NAME=VALUE, or --input \'NAME="2.0"\' where a text looks like a number.'),
  ID_INVALID: row(400, 2, 'no', '{kind} {id} cannot be used{: |reason}', '{|hint|Use a shorter id without lone surrogates.}'),
  VALUE_UNSTORABLE: row(422, 3, 'no', 'a value cannot be stored{ at |path}{: |reason}', 'Return plain data: JSON, Date, bigint, Uint8Array, Map, Set, URL or Error.'),
  VALUE_TOO_LARGE: row(413, 3, 'no', 'a value of {sizeBytes} bytes{ at |path} is over the limit of {limitBytes}', 'Return less, or keep the bytes in a blob.'),
  VALUE_MASKED: row(422, 2, 'no', '{where} holds {marker}{ at |path}, which stands for a masked value and is none', 'Give the value itself, or leave it as it is. A run reads a secret by reference: secrets in YAML, secret(NAME) in code.'),
  EXPORT_MASKED: row(422, 2, 'no', 'the export of run {runId} is masked: it is for reading, and cannot be imported', 'Export the run without --masked.'),
  CHECKPOINT_TOO_LARGE: row(413, 3, 'no', '{node} would add {bytes} bytes to the run, over the limit of {limitBytes}; the largest places: {places}', 'Return less, write it to a file and return its path, or raise the limit of a checkpoint; then resume the run.'),
  TEXT_TOO_COSTLY: row(413, 3, 'no', 'reading this text takes more than {limit}', 'Make it smaller, or split it into workflows that call each other. Files of the folders of workflows are read without this limit.'),
  READER_BUSY: row(503, 6, 'later', '{count} texts of clients wait to be read already', 'Nothing was read. Try again in some seconds.'),
  READ_TOO_COSTLY: row(413, 3, 'no', 'this reads more than {limit}', 'Ask for less: a range that ends earlier, a cheaper condition, a page. The command line on the machine of the store has no such bound.'),
  WORKFLOW_NOT_FOUND: row(404, 3, 'no', 'no workflow {name}{, and |also}', '{There are, nearest first: |known|There are none here: give their folder with --workflows}.'),
  DATASET_NOT_FOUND: row(404, 3, 'no', 'no dataset {name}', '{There are: |known|There are none here: make one with cairn dataset add}.'),
  WORKFLOW_CIRCULAR: row(422, 3, 'no', 'workflows call each other in a circle: {chain}', 'Take one of the calls out of the circle.'),
  PERMISSION_DENIED: row(403, 2, 'no', '{need} may not be used here{: |reason}', '{If it may, start the process with |grant|Start the process with a grant that covers it}; else take it out.'),
  RUN_NOT_FOUND: row(404, 3, 'no', 'no run {runId}{: there is no store |missingStore}', '{|hint|List the runs with: cairn ls. One that ended may have been removed since; whether its row was lost, cairn verify tells.}'),
  RUN_EXPIRED: row(410, 3, 'no', 'run {runId} was removed on {removedOn}{ because |reason}, and its id is not used again before {until}', 'Start it under another id, or bring it back from an export or a backup. If what it did may be done again, forget it: cairn rm {runId} --forget.'),
  RUN_EXISTS: row(409, 3, 'no', 'run {runId} exists with another {difference}', '{|hint|Use another run id, or the same graph and input.}'),
  RUN_FINISHED: row(409, 3, 'no', 'run {runId} is {status}', '{|hint|Fork it to go on from one of its checkpoints.}'),
  RUN_ENDED: row(409, 3, 'no', 'run {runId} has ended ({status}) and takes nothing more', 'Begin another run: send it under the next id.'),
  RUN_TIMED_OUT: row(422, 3, 'later', 'run {runId} took longer than the {ms} ms that it has', 'Resume it: it has its whole time again. Or give its graph a longer timeLimit.'),
  RUN_NOT_PAUSED: row(409, 3, 'no', 'run {runId} is not paused', 'Wait until it is.'),
  RUN_CANCELLED: row(409, 3, 'no', 'run {runId} was cancelled', 'Fork it to go on from one of its checkpoints.'),
  RUN_GRAPH_CHANGED: row(409, 3, 'no', 'the graph of run {runId} has changed in a way it cannot go on under{: |reason}', '{|hint|Put back what has changed, or fork the run from an earlier checkpoint.}'),
  PREVIEW_CHANGED: row(412, 3, 'no', 'what was previewed at {checkpoint} would go otherwise by now', 'Look at the new preview, and decide again: cairn preview {checkpoint}'),
  RUN_LIMIT: row(429, 3, 'no', 'limit {limit} of {value} reached{ at |path}', 'Raise the limit by its name, or make the graph smaller.'),
  BUDGET_EXCEEDED: row(402, 3, 'no', '{of} has spent {spent} of its budget of {budget} {unit}{; the next attempt spends up to |needs}: {node} did not begin', 'Resume the run with a higher budget: `budget: { {unit}: N }`, --budget {unit}=N; or raise it where it is declared.'),
  LIMIT_FULL: row(409, 3, 'later', 'limit {key} has no place for another run, and its runs do not wait', 'Start it when one of those has ended, or let the limit say onFull: queue.'),
  RUN_HELD: row(409, 4, 'no', 'run {runId} is held: its store was restored or copied, or somebody held it, and what it did since is not known here', 'Look what it may have done since, then let it go on: cairn release {runId}'),
  CLAIM_TAKEN: row(409, 4, 'later', 'run {runId} is held by {owner} for {remainingMs} ms more', 'Wait until that worker ends or its lease runs out.'),
  CLAIM_LOST: row(409, 4, 'later', 'run {runId} is advanced here no more{: |reason}', 'What was committed is kept. Whoever has claimed the run goes on with it; if nobody has, resume it.'),
  CLAIM_FENCED: row(409, 4, 'later', 'write to run {runId} refused: token {token} is not {current}', 'The run was claimed anew since. What was committed is kept.'),
  COMMIT_CONFLICT: row(409, 4, 'later', 'commit {seq} of run {runId} refused: the head is {head}', 'Load the run again and go on from its head.'),
  ORIGINAL_CLAIMED: row(409, 4, 'later', 'the effect of {node} is still open in run {runId}, which is being worked on', 'Try again when the original has recorded it or has stopped.'),
  PLAN_INVALID: row(422, 3, 'no', 'the plan cannot be used: {reason}', 'Mend what is named. A planner was told of it twice: give it clearer instructions, or give the plan yourself.'),
  SANDBOX_UNAVAILABLE: row(503, 3, 'later', 'no sandbox of {sandboxes} can be made here: {reason}', 'Nothing was run. Install what is missing, or choose another kind of sandbox, then resume the run.'),
  NODE_FAILED: row(422, 3, 'no', 'node {node} failed{: |reason}{; |withheld}', '{|wayOut|Mend the cause,} then resume the run: the node is tried again, or asked about if its effect may have happened.'),
  NODE_TIMED_OUT: row(422, 3, 'no', 'node {node} {|what|ran longer than} {|overdueMs}{|timeoutMs} ms', '{|hint|Raise timeoutMs or mend the node, then resume the run.}'),
  NODE_EXITED: row(422, 3, 'no', 'node {node} called process.exit({exitCode})', 'A process works on many runs: let the node return or throw instead, then resume the run.'),
  NODE_KILLED: row(422, 3, 'no', 'node {node} ended the process that ran it{, with exit code |exitCode}{, by |signal}{; it wrote last: |stderr}', 'Mend the node: it ends its process, or takes more memory than there is. Then resume the run: it is tried again.'),
  NODE_BLOCKED: row(422, 3, 'no', 'node {node} held the event loop of its process{ for |duration}, and was ended', 'Mend the node: work that takes long belongs into a thread or a process of its own, or busyMaxMs is too low for it. Then resume the run: it is tried again.'),
  NODE_CANCELLED: row(409, 3, 'no', 'node {node} was cancelled{: |reason}', 'Fork the run to go on.'),
  NODE_OUTPUT_INVALID: row(422, 3, 'no', 'the outcome of node {node} does not fit{ at |path}{: |reason}', 'Return what the schema says, then resume the run.'),
  QUESTION_CHANGED: row(422, 3, 'no', 'node {node} asks another question each time it is repeated{: first |before}{, then |now}{: the choices, schema or data differ under the words |words}', 'Make the question from the state, from the results of steps, or from ctx.now(), which is recorded; then resume the run.'),
  AGENT_DIVERGED: row(409, 3, 'no', 'agent {node} asks another thing in call {call} than is on record{: its message |message}{ (|role}{) is |text}{: |differs}', 'Its prompt, tools or code have changed since the run began, and it refuses that. Put them back and resume, let it go on (onChange: \'continue\'), or fork the run: a fork makes the call anew.'),
  STEPS_CHANGED: row(409, 3, 'no', 'node {node} has changed: it would begin the effect {step} before it has called what is on record: {recorded}', 'Give the step the name that is on record and resume; or, if it is another effect, drop the recorded one on purpose: ctx.past.passOver((name) => name === ...), or fork the run.'),
  CASSETTE_MISSING: row(404, 3, 'no', 'cassette {cassette} has no answer to this call of {model}{; of the nearest call on record differs |differs|; nothing is on record}{: now |text}{ and then |recorded}', 'Record it: createCassetteModels({ path, record }), with the models that answer it.'),
  NODE_CALL_REFUSED: row(422, 3, 'no', 'ctx.{call} is refused in node {node}{: |reason}', '{|hint|See the rules of composed nodes.}'),
  ROUTE_UNKNOWN: row(422, 3, 'no', 'node {node} routed to {target}, which is none of its targets {targets}', 'Return one of the declared targets.'),
  EFFECT_IN_DOUBT: row(409, 3, 'no', 'it is not known whether the effect of {node} happened', 'Find out whether it did. Then answer its question, or fork the run with its output.'),
  STATE_WRITE_CONFLICT: row(409, 3, 'no', 'nodes {nodes} both wrote {channel}, which has no reducer', 'Give the channel a reducer, or order the nodes with an edge.'),
  STATE_UNKNOWN_CHANNEL: row(422, 3, 'no', '{channel} is no part of the state that can be set{: |reason}', '{There are: |known|Write to scratch, artifacts or diagnostics}.'),
  STATE_INVALID: row(422, 3, 'no', 'the state does not fit its schema{ at |path}{: |reason}', 'Correct the node that wrote it, then resume the run.'),
  WAIT_NOT_FOUND: row(404, 3, 'no', 'run {runId} has no {|open}wait{ |waitId}{ up to checkpoint |upTo}{: it is |status}', '{|hint|List open waits with: cairn inbox. A failed run asks again when it is resumed. To answer otherwise what was answered, fork the run.}'),
  WAIT_CLOSED: row(409, 3, 'no', 'wait {waitId} of run {runId} was closed already by {by} with {answer}', 'Fork the run to answer otherwise.'),
  WAIT_REFUSED: row(409, 3, 'no', 'wait {waitId} of run {runId} takes no answer, since this fork cannot act: it {what}', 'Resume it with a stand-in for what it refuses, or fork the original without refusing its effects.'),
  SIGNAL_INVALID: row(422, 3, 'no', 'signal {name} of node {node} does not fit its schema{ at |path}{: |reason}', 'Send a value that fits. If a node failed over it, resume the run too: its next attempt takes the next signal.'),
  ANSWER_INVALID: row(422, 2, 'no', 'the answer does not fit{: |reason}', 'The question stays open: answer it again.'),
  OUTCOME_INVALID: row(422, 2, 'no', 'the outcome set for {node} is none that it gives{: |reason}', 'Set one that the node could have given, or answer its question otherwise: fork with answers.'),
  ANSWER_RESERVED: row(403, 2, 'no', '{|what|answers are for people here}{: |reason}', '{Ask the person to run: |command|Somebody whose answer it is can give it, at any door where it is known who that is.}'),
  CHECKPOINT_NOT_FOUND: row(404, 3, 'no', 'no checkpoint {checkpoint}', 'See the history with: cairn log RUN'),
  CHECKPOINT_AMBIGUOUS: row(400, 2, 'no', '{reference} fits several: {matches}', 'Give more characters.'),
  CHECKPOINT_PRUNED: row(410, 3, 'no', 'checkpoint {checkpoint} was pruned', 'The oldest kept one after it is {remains}.'),
  CHECKPOINT_CORRUPT: row(500, 5, 'no', 'checkpoint {checkpoint} is damaged{: |reason}', '{The newest intact one before it, from which a fork can go on, is |intact|Nothing before it is intact}{; after it, a fork can go on from the snapshot of |later}.'),
  CHECKPOINT_VERSION_UNKNOWN: row(500, 5, 'no', 'checkpoint {checkpoint} has format version {version}, newer than {supported}', 'Use a newer version of cairn.'),
  CHECKPOINT_NEEDED: row(409, 3, 'no', 'checkpoint {checkpoint} cannot be removed: {reason}', 'Remove what needs it first, or the run as a whole with: cairn rm RUN'),
  HISTORY_HAS_FORKS: row(409, 3, 'no', 'run {runId} has forks: {forks}', 'Remove them too, with --with-forks, or keep the run.'),
  STORE_UNAVAILABLE: row(503, 6, 'later', 'the store {store} cannot be reached{: |reason}', '{|hint|Nothing was written; try again.}'),
  STORE_BUSY: row(503, 6, 'later', 'the store {store} is locked{: |reason}', '{|hint|Try again when the other process is done.}'),
  STORE_FULL: row(507, 6, 'later', 'the store {store} has no room{: |reason}', '{|hint|Free some disk space, then do the same again.}'),
  STORE_READ_ONLY: row(503, 6, 'no', 'the store {store} is read-only{: |reason}', '{|hint|Mend the file permissions, or use another store.}'),
  STORE_DENIED: row(503, 6, 'no', 'the store {store} denies access{: |reason}', 'Give the role the rights that it needs, then do the same again.'),
  STORE_CORRUPT: row(500, 5, 'no', 'the store {store} is damaged{: |reason}', 'Run: cairn doctor, then restore the file or export what is intact.'),
  STORE_VERSION_UNKNOWN: row(500, 5, 'no', 'the store {store} has layout version {version}, newer than {supported}', 'Use a newer version of cairn.'),
  STORE_CLOSED: row(503, 6, 'no', 'the store {store} is closed', 'Open it again.'),
  STORE_UNSUPPORTED: row(501, 6, 'no', 'the store cannot {capability}', 'Use a store that declares this capability.'),
  FILE_NOT_FOUND: row(404, 2, 'no', 'no file {name} with the hash {hash} is stored{, named by |what}', 'Put its bytes first: `engine.files.put(bytes, { name })` gives the reference to hand over.'),
  BLOB_NOT_FOUND: row(404, 5, 'no', 'no blob {hash}{ in |store}', 'If the large values of this store are elsewhere, name the place: --blobs or CAIRN_BLOBS; blobs, in a program. Else restore them, or fork from a checkpoint that does not name it.'),
  BLOB_CORRUPT: row(500, 5, 'no', 'blob {hash} is damaged', 'Restore it from a backup.'),
  SECRET_MISSING: row(400, 2, 'no', 'secret {name} is not set', 'Set it in the environment and resume.'),
  SECRET_UNAVAILABLE: row(503, 6, 'later', 'secret {name} cannot be read{: |reason}', 'The source of secrets failed: see to it, and resume. Its own message is not told, since it may hold a secret.'),
  RUNTIME_TOO_OLD: row(500, 2, 'no', 'Node {found} is too old', 'Cairn needs Node 22.18 or newer.'),
  SIGNAL_EXISTS: row(409, 3, 'no', 'run {runId} was sent another signal under this key{: |name}', 'Use another key for another signal.'),
  REQUEST_MALFORMED: row(400, 2, 'no', '{reason}', 'Send the request as HTTP has it, to the address of this server.'),
  TOKEN_NEEDED: row(401, 2, 'no', '{reason}', 'Send Authorization: Bearer TOKEN, with a token that this server knows.'),
  SCOPE_NEEDED: row(403, 2, 'no', '{reason}', 'Use a token with this scope: GET /v1/me tells the scopes of yours.'),
  ORIGIN_REFUSED: row(403, 2, 'no', '{reason}', 'Who runs the server names the hosts by which it is called, and the origins of pages that may call it.'),
  ROUTE_NOT_FOUND: row(404, 3, 'no', '{reason}', 'GET /v1/openapi.json lists the routes.'),
  METHOD_NOT_SERVED: row(405, 2, 'no', '{reason}', 'The header Allow names the methods that this route takes.'),
  DELIVERY_UNVERIFIED: row(401, 2, 'no', '{reason}', 'Look at the secret on both sides, at the clock, and at whether something in between changes bodies: verify of this hook did not say yes.'),
  LINK_CLOSED: row(410, 3, 'no', '{reason}', 'Ask whoever sent the link for a new one, if there is still something to answer.'),
  BODY_TOO_LARGE: row(413, 3, 'no', '{reason}', 'Send less, or put large bytes where the workflow can fetch them.'),
  ANSWER_TOO_LARGE: row(413, 3, 'no', '{reason}', 'Ask for a page or a path, or for all of it with the header Prefer: return=representation.'),
  MEDIA_TYPE_UNKNOWN: row(415, 2, 'no', '{reason}', 'Say with Content-Type what is sent.'),
  RANGE_INVALID: row(416, 2, 'no', '{reason}', 'Content-Range tells the size: ask for bytes within it.'),
  REQUESTS_TOO_MANY: row(429, 4, 'later', '{reason}', 'Close some, or wait as long as Retry-After says.'),
  INTERNAL: row(500, 70, 'no', 'internal error{: |reason}', 'This is a defect of Cairn: please report it with the run exported.'),
};
