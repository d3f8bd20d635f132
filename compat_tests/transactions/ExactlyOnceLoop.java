import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A consume-transform-produce loop with Kafka's own client, as loop.py has it with others:
 * ExactlyOnceLoop BOOTSTRAP IN OUT GROUP TRANSACTIONAL_ID SEED
 *
 * It says a line when a transaction begins, aborts some on purpose, and starts over from the committed offsets
 * when one fails. It runs until it is killed; what it cannot go on from ends it with an exception.
 */
public final class ExactlyOnceLoop {
    private static final int BATCH = 20;
    private static final double ABORTED_SHARE = 0.2;
    /** In the middle of a transaction, so that kills meet it there. */
    private static final int LONGEST_PAUSE_MS = 50;

    private final String target;
    private final Random chance;
    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;

    private ExactlyOnceLoop(String bootstrap, String target, String group, String name, long seed) {
        this.target = target;
        this.chance = new Random(seed);
        this.consumer = new KafkaConsumer<>(consumerSettings(bootstrap, group, name));
        this.producer = new KafkaProducer<>(producerSettings(bootstrap, name));
    }

    public static void main(String[] arguments) throws InterruptedException {
        ExactlyOnceLoop loop = new ExactlyOnceLoop(
            arguments[0], arguments[2], arguments[3], arguments[4], Long.parseLong(arguments[5]));
        loop.run(arguments[1]);
    }

    private static Properties consumerSettings(String bootstrap, String group, String name) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        // A static member is let in again at once after a kill.
        settings.put("group.instance.id", name);
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", String.valueOf(BATCH));
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        return settings;
    }

    private static Properties producerSettings(String bootstrap, String name) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", name);
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        return settings;
    }

    private void run(String source) throws InterruptedException {
        producer.initTransactions();
        consumer.subscribe(List.of(source));
        while (true) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
            if (!records.isEmpty() && !transaction(records)) {
                startOver();
            }
        }
    }

    /** Whether it was committed. */
    private boolean transaction(ConsumerRecords<String, String> records) throws InterruptedException {
        boolean aborted = chance.nextDouble() < ABORTED_SHARE;
        String name = Long.toHexString(chance.nextLong());
        producer.beginTransaction();
        System.out.println("began");
        try {
            for (ConsumerRecord<String, String> record : records) {
                producer.send(transformed(record, name, records.count(), aborted));
            }
            Thread.sleep(chance.nextInt(LONGEST_PAUSE_MS));
            if (!aborted) {
                producer.sendOffsetsToTransaction(nextOffsets(records), consumer.groupMetadata());
                producer.commitTransaction();
                return true;
            }
            producer.flush();
        } catch (ProducerFencedException fenced) {
            throw fenced;
        } catch (KafkaException failed) {
            System.err.println("a transaction failed: " + failed);
        }
        producer.abortTransaction();
        return false;
    }

    private ProducerRecord<String, String> transformed(
            ConsumerRecord<String, String> record, String transaction, int count, boolean aborted) {
        ProducerRecord<String, String> result =
            new ProducerRecord<>(target, record.partition(), null, "done " + record.value());
        label(result, "transaction", transaction);
        label(result, "records", String.valueOf(count));
        label(result, "fate", aborted ? "aborted" : "committed");
        return result;
    }

    private static void label(ProducerRecord<String, String> record, String key, String value) {
        record.headers().add(key, value.getBytes(StandardCharsets.UTF_8));
    }

    private static Map<TopicPartition, OffsetAndMetadata> nextOffsets(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            offsets.put(
                new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        return offsets;
    }

    private void startOver() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition place : consumer.assignment()) {
            OffsetAndMetadata found = committed.get(place);
            consumer.seek(place, found == null ? 0 : found.offset());
        }
    }
}
