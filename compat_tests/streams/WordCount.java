import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts words with a repartition and a changelog topic, exactly once:
 * WordCount APPLICATION IN OUT FOLDER KEY=VALUE...
 *
 * Each state is said in a line of its own. It runs until its standard input ends, and then leaves its group; what it
 * cannot go on from ends it with an exception.
 */
public final class WordCount {
    private WordCount() {
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = settings(arguments);
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(List.of(arguments[1].split(",")), Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split(" ")))
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .mapValues(String::valueOf)
            .to(arguments[2], Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> System.out.println(now));
        streams.setUncaughtExceptionHandler(error -> {
            System.out.println("failed: " + error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        while (System.in.read() >= 0) {
            // Only the end of it means something.
        }
        streams.close(Duration.ofSeconds(20));
    }

    private static Properties settings(String[] arguments) {
        Properties settings = new Properties();
        settings.put("application.id", arguments[0]);
        settings.put("state.dir", Path.of(arguments[3]).toString());
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("commit.interval.ms", "100");
        settings.put("default.key.serde", Serdes.String().getClass().getName());
        settings.put("default.value.serde", Serdes.String().getClass().getName());
        settings.put("auto.offset.reset", "earliest");
        // A member that is killed leaves a transaction open: others wait for its end.
        settings.put("producer.transaction.timeout.ms", "3000");
        for (String argument : Arrays.asList(arguments).subList(4, arguments.length)) {
            int middle = argument.indexOf('=');
            settings.put(argument.substring(0, middle), argument.substring(middle + 1));
        }
        return settings;
    }
}
