// What nobody could deliver, by topic.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Page, query } from "../api";
import { number } from "../format";
import { placeOf, useData } from "../hooks";
import { Pager, Table, Wrong } from "../parts";

export function DeadLetters(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error } = useData<Page<{ topic: string; partitions: number; letters: number; sources: string[] }>>("/dlq" + query({ skip, limit: 50 }));
  return (
    <>
      <h1>Dead letters</h1>
      <Wrong error={error} />
      <Table
        rows={data?.items}
        empty="Everything could be delivered."
        columns={[
          { name: "topic", cell: (each) => <a href={placeOf("topics", each.topic)}>{each.topic}</a> },
          { name: "letters here", right: true, cell: (each) => number(each.letters) },
          { name: "from", cell: (each) => each.sources.map((source) => <div><a href={placeOf("topics", source)}>{source}</a></div>) },
          { name: "send again", cell: (each) => <code>tidegate dlq redrive {each.topic} --dry-run</code> },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}
