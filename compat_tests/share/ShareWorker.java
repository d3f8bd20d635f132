import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Works from a share group with Kafka's own client as records' values say: ShareWorker BOOTSTRAP GROUP TOPIC [MODE],
 * where the mode of acknowledgements is explicit unless it is given: by the implicit one, polling accepts what the
 * last poll gave.
 */
public final class ShareWorker {
    private static final int RENEWALS = 4;
    private static final Map<Long, Integer> RENEWED = new HashMap<>();

    private ShareWorker() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        boolean explicit = arguments.length < 4 || arguments[3].equals("explicit");
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[1]);
        settings.put("share.acknowledgement.mode", explicit ? "explicit" : "implicit");
        settings.put("share.acquire.mode", "record_limit");
        settings.put("max.poll.records", "10");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(settings)) {
            consumer.subscribe(List.of(arguments[2]));
            while (System.in.available() == 0) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<String, String> record : records) {
                    if (explicit) {
                        work(consumer, record);
                    } else {
                        told(record);
                    }
                }
                for (Map.Entry<TopicIdPartition, Optional<KafkaException>> each : consumer.commitSync().entrySet()) {
                    each.getValue().ifPresent(error -> System.out.println("failed " + error.getMessage()));
                }
                for (ConsumerRecord<String, String> record : records) {
                    if (RENEWED.getOrDefault(record.offset(), RENEWALS) >= RENEWALS) {
                        System.out.println("settled " + record.partition() + " " + record.offset());
                    }
                }
            }
        }
        System.out.println("closed");
    }

    private static void work(KafkaShareConsumer<String, String> consumer, ConsumerRecord<String, String> record)
            throws InterruptedException {
        int count = told(record);
        String value = record.value();
        if (value.startsWith("renew") && RENEWED.merge(record.offset(), 1, Integer::sum) < RENEWALS) {
            // It comes again from here with one of the next polls, with its lock renewed.
            consumer.acknowledge(record, AcknowledgeType.RENEW);
            Thread.sleep(500);
        } else if (value.startsWith("hold")) {
            Thread.sleep(Long.MAX_VALUE);
        } else if (value.startsWith("release") && count == 1) {
            consumer.acknowledge(record, AcknowledgeType.RELEASE);
        } else if (value.startsWith("reject")) {
            consumer.acknowledge(record, AcknowledgeType.REJECT);
        } else {
            consumer.acknowledge(record, AcknowledgeType.ACCEPT);
        }
    }

    private static int told(ConsumerRecord<String, String> record) {
        int count = record.deliveryCount().orElse((short) 0);
        System.out.println(
                "record " + record.partition() + " " + record.offset() + " " + count + " " + record.value());
        return count;
    }
}
