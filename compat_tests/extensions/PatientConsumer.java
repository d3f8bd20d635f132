import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Kafka's own consumer, with little prefetched: PatientConsumer BOOTSTRAP TOPIC FETCH_BYTES FIRST WANTED
 *
 * It reads FIRST records of partition 0, says "read", waits for a line, and then says the value of every record up to
 * one of the value WANTED.
 */
public final class PatientConsumer {
    private PatientConsumer() {}

    public static void main(String[] arguments) throws IOException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("max.partition.fetch.bytes", arguments[2]);
        settings.put("fetch.max.bytes", arguments[2]);
        settings.put("max.poll.records", "10");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        int left = Integer.parseInt(arguments[3]);
        boolean told = false;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            TopicPartition place = new TopicPartition(arguments[1], 0);
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            while (true) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    left--;
                    if (told) {
                        System.out.println(record.value());
                        if (record.value().equals(arguments[4])) {
                            return;
                        }
                    }
                }
                if (left <= 0 && !told) {
                    System.out.println("read");
                    System.in.read();
                    told = true;
                }
            }
        }
    }
}
