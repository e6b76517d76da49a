import type { JSX } from 'preact';
export function InboxPage(): JSX.Element {
  return <div class="page">soon</div>;
}
