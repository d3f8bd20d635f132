import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own producer, told by lines what to do: ScriptedProducer BOOTSTRAP TOPIC [TRANSACTIONAL_ID]
 *
 * "begin", "commit", "abort" and "flush" do that; any other line is a record, its key, value and headers (name=value)
 * separated by tabs. In the end a line is said for every record: its offset, or why it was refused.
 */
public final class ScriptedProducer {
    private final String topic;
    private final KafkaProducer<String, String> producer;
    private final List<Future<RecordMetadata>> sent = new ArrayList<>();

    private ScriptedProducer(String topic, KafkaProducer<String, String> producer) {
        this.topic = topic;
        this.producer = producer;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("linger.ms", "100");
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        if (arguments.length > 2) {
            settings.put("transactional.id", arguments[2]);
        }
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            if (arguments.length > 2) {
                producer.initTransactions();
            }
            ScriptedProducer script = new ScriptedProducer(arguments[1], producer);
            script.run();
            script.report();
        }
    }

    private void run() throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            switch (line) {
                case "begin" -> producer.beginTransaction();
                case "commit" -> producer.commitTransaction();
                case "abort" -> {
                    // What was not sent yet would be dropped.
                    producer.flush();
                    producer.abortTransaction();
                }
                case "flush" -> producer.flush();
                default -> sent.add(producer.send(record(line)));
            }
        }
        producer.flush();
    }

    private ProducerRecord<String, String> record(String line) {
        String[] fields = line.split("\t");
        String key = fields[0].isEmpty() ? null : fields[0];
        ProducerRecord<String, String> record = new ProducerRecord<>(topic, 0, key, fields[1]);
        for (int index = 2; index < fields.length; index++) {
            String[] header = fields[index].split("=", 2);
            record.headers().add(header[0], header[1].getBytes(StandardCharsets.UTF_8));
        }
        return record;
    }

    private void report() throws InterruptedException {
        for (Future<RecordMetadata> future : sent) {
            try {
                RecordMetadata metadata = future.get();
                System.out.println(metadata.hasOffset() ? "offset " + metadata.offset() : "no offset");
            } catch (ExecutionException refused) {
                Throwable cause = refused.getCause();
                System.out.println(cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
        }
    }
}
