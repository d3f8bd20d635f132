import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Many members of one group, of Kafka's own client with the cooperative assignor, on a thread each:
 * CooperativeCrowd BOOTSTRAP TOPIC GROUP MEMBERS PARTITIONS HEARTBEAT_MS ROUNDS
 *
 * In each round one more member joins and one leaves. For both it says a line:
 * "join|leave MS KEPT REVOKED GAP_MS", that is how long it took until all partitions had their new place, how many
 * partitions stayed where they were, how many of these were revoked on the way, and the longest time that one of these
 * went without a record.
 */
public final class CooperativeCrowd {
    private static final long PATIENCE_MS = 60_000;
    private static final long AROUND_MS = 400;

    private final String[] arguments;
    private final int partitions;
    private final List<Member> members = new ArrayList<>();

    private CooperativeCrowd(String[] arguments) {
        this.arguments = arguments;
        this.partitions = Integer.parseInt(arguments[4]);
    }

    public static void main(String[] arguments) throws InterruptedException {
        CooperativeCrowd crowd = new CooperativeCrowd(arguments);
        for (int number = Integer.parseInt(arguments[3]); number > 0; number--) {
            crowd.add();
        }
        crowd.waitUntilBalanced();
        for (int round = Integer.parseInt(arguments[6]); round > 0; round--) {
            crowd.measure("join", null);
            crowd.measure("leave", crowd.members.get(0));
        }
        System.out.println("done");
        // A halt and no farewells: nobody waits for the group any more.
        Runtime.getRuntime().halt(0);
    }

    private void add() {
        Member member = new Member();
        members.add(member);
        member.start();
    }

    /** Lets a member join or this one leave. */
    private void measure(String name, Member leaving) throws InterruptedException {
        Thread.sleep(2 * AROUND_MS);
        members.remove(leaving);
        Map<Member, Set<Integer>> before = new HashMap<>();
        for (Member member : members) {
            before.put(member, Set.copyOf(member.held));
            member.revoked.clear();
        }
        long began = now();
        if (leaving == null) {
            add();
        } else {
            leaving.leaving = true;
        }
        waitUntilBalanced();
        long ended = members.stream().mapToLong(member -> member.changed).max().orElseThrow();
        Thread.sleep(AROUND_MS);
        int kept = 0;
        int revoked = 0;
        long gap = 0;
        for (Map.Entry<Member, Set<Integer>> was : before.entrySet()) {
            Member member = was.getKey();
            for (int partition : was.getValue()) {
                if (member.held.contains(partition)) {
                    kept++;
                    revoked += member.revoked.contains(partition) ? 1 : 0;
                    gap = Math.max(gap, member.longestGap(partition, began - AROUND_MS, ended + AROUND_MS / 2));
                }
            }
        }
        System.out.println(String.join(" ", name, "" + (ended - began), "" + kept, "" + revoked, "" + gap));
    }

    private void waitUntilBalanced() throws InterruptedException {
        long deadline = now() + PATIENCE_MS;
        while (!balanced()) {
            if (now() > deadline) {
                throw new IllegalStateException("no balance: " + members.stream().map(each -> each.held).toList());
            }
            Thread.sleep(2);
        }
    }

    private boolean balanced() {
        Set<Integer> all = new HashSet<>();
        int sum = 0;
        int most = 0;
        int least = partitions;
        for (Member member : members) {
            Set<Integer> held = Set.copyOf(member.held);
            all.addAll(held);
            sum += held.size();
            most = Math.max(most, held.size());
            least = Math.min(least, held.size());
        }
        return all.size() == partitions && sum == partitions && most - least <= 1;
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }

    /** One consumer and its thread. */
    private final class Member extends Thread implements ConsumerRebalanceListener {
        final Set<Integer> held = ConcurrentHashMap.newKeySet();
        final Set<Integer> revoked = ConcurrentHashMap.newKeySet();
        final Map<Integer, List<Long>> deliveries = new ConcurrentHashMap<>();
        volatile long changed;
        volatile boolean leaving;

        @Override
        public void run() {
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings())) {
                consumer.subscribe(List.of(arguments[1]), this);
                while (!leaving) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(50))) {
                        List<Long> times = deliveries.computeIfAbsent(record.partition(), key -> new ArrayList<>());
                        synchronized (times) {
                            times.add(now());
                        }
                    }
                }
            }
        }

        private Properties settings() {
            Properties settings = new Properties();
            settings.put("bootstrap.servers", arguments[0]);
            settings.put("group.id", arguments[2]);
            settings.put("group.protocol", "classic");
            settings.put("partition.assignment.strategy", CooperativeStickyAssignor.class.getName());
            settings.put("heartbeat.interval.ms", arguments[5]);
            settings.put("session.timeout.ms", "30000");
            settings.put("enable.auto.commit", "false");
            settings.put("auto.offset.reset", "latest");
            settings.put("fetch.max.wait.ms", "100");
            settings.put("key.deserializer", StringDeserializer.class.getName());
            settings.put("value.deserializer", StringDeserializer.class.getName());
            return settings;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> places) {
            places.forEach(place -> held.add(place.partition()));
            changed = now();
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> places) {
            places.forEach(place -> held.remove(place.partition()));
            places.forEach(place -> revoked.add(place.partition()));
            changed = now();
        }

        long longestGap(int partition, long start, long end) {
            List<Long> times = deliveries.getOrDefault(partition, List.of());
            long last = start;
            long longest = 0;
            synchronized (times) {
                for (long at : times) {
                    if (start <= at && at <= end) {
                        longest = Math.max(longest, at - last);
                        last = at;
                    }
                }
            }
            return Math.max(longest, end - last);
        }
    }
}
