import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;

/** Reads pairs of schemas, a line each, and says of each whether the reader can read what the writer wrote. */
public final class AvroJudge {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = lines.readLine()) != null; ) {
            out.println(JSON.writeValueAsString(verdict(JSON.readTree(line))));
        }
        out.flush();
    }

    private static String[] verdict(JsonNode pair) {
        try {
            // Each with a parser of its own, which remembers names.
            Schema reader = new Schema.Parser().parse(pair.get("reader").toString());
            Schema writer = new Schema.Parser().parse(pair.get("writer").toString());
            var found = SchemaCompatibility.checkReaderWriterCompatibility(reader, writer);
            return new String[] {found.getType().toString(), found.getResult().getIncompatibilities().toString()};
        } catch (RuntimeException | StackOverflowError error) {
            return new String[] {"INVALID", error.toString()};
        }
    }
}
