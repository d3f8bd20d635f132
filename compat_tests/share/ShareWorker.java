import java.io.IOException;
import java.time.Duration;
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

/** Works from a share group with Kafka's own client as records' values say: ShareWorker BOOTSTRAP GROUP TOPIC. */
public final class ShareWorker {
    private ShareWorker() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[1]);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("share.acquire.mode", "record_limit");
        settings.put("max.poll.records", "10");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(settings)) {
            consumer.subscribe(List.of(arguments[2]));
            while (System.in.available() == 0) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<String, String> record : records) {
                    work(consumer, record);
                }
                for (Map.Entry<TopicIdPartition, Optional<KafkaException>> each : consumer.commitSync().entrySet()) {
                    each.getValue().ifPresent(error -> System.out.println("failed " + error.getMessage()));
                }
                for (ConsumerRecord<String, String> record : records) {
                    System.out.println("settled " + record.partition() + " " + record.offset());
                }
            }
        }
        System.out.println("closed");
    }

    private static void work(KafkaShareConsumer<String, String> consumer, ConsumerRecord<String, String> record)
            throws InterruptedException {
        int count = record.deliveryCount().orElse((short) 0);
        String value = record.value();
        System.out.println("record " + record.partition() + " " + record.offset() + " " + count + " " + value);
        if (value.startsWith("hold")) {
            Thread.sleep(Long.MAX_VALUE);
        } else if (value.startsWith("release") && count == 1) {
            consumer.acknowledge(record, AcknowledgeType.RELEASE);
        } else if (value.startsWith("reject")) {
            consumer.acknowledge(record, AcknowledgeType.REJECT);
        } else {
            consumer.acknowledge(record, AcknowledgeType.ACCEPT);
        }
    }
}
