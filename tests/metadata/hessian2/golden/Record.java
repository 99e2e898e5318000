// Writes *.bin here as Dubbo's Java writes them; README.md says how to run it.

import com.alibaba.com.caucho.hessian.io.Hessian2Input;
import com.alibaba.com.caucho.hessian.io.Hessian2Output;
import com.alibaba.com.caucho.hessian.io.SerializerFactory;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.dubbo.metadata.MetadataInfo;

public class Record {
    static void write(String name, Object... values) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Hessian2Output output = new Hessian2Output(bytes);
        output.setSerializerFactory(new SerializerFactory());
        for (Object value : values) output.writeObject(value);
        output.flush();
        Files.write(Paths.get(name + ".bin"), bytes.toByteArray());
    }

    // What Java makes of a file, for a look at what other peers write.
    static void show(String file) throws Exception {
        Hessian2Input input = new Hessian2Input(new ByteArrayInputStream(Files.readAllBytes(Paths.get(file))));
        input.setSerializerFactory(new SerializerFactory());
        try {
            for (;;) {
                Object value = input.readObject();
                System.out.println(file + ": " + (value == null ? "" : value.getClass().getName() + " ") + value);
                if (value instanceof MetadataInfo) {
                    MetadataInfo info = (MetadataInfo) value;
                    System.out.println("  " + info.getApp() + " " + info.getRevision() + " " + info.getServices());
                }
            }
        } catch (java.io.EOFException end) {
            System.out.println(file + ": end");
        }
    }

    static MetadataInfo info() {
        MetadataInfo info = new MetadataInfo("java-app", "860311f66ada36215369063dc8cc31b2", new ConcurrentHashMap<>());
        Map<String, String> params = new HashMap<>();
        params.put("side", "provider");
        params.put("note", "na\u00efve \u65e5\u672c \ud83d\ude00");
        MetadataInfo.ServiceInfo[] services = {
            new MetadataInfo.ServiceInfo("demo.Greeting", null, null, "dubbo", 22397, "demo.Greeting", params),
            // The same map: Java writes a reference.
            new MetadataInfo.ServiceInfo("demo.Order", "shop", "1.0.0", "tri", 50051, "demo.Order", params),
        };
        for (MetadataInfo.ServiceInfo service : services) info.getServices().put(service.getMatchKey(), service);
        return info;
    }

    public static void main(String[] files) throws Exception {
        for (String file : files) show(file);
        if (files.length > 0) return;
        MetadataInfo info = info();
        write("java_metadata_info", info);
        write("java_metadata_infos", new ArrayList<>(Arrays.asList(info, info)));
        write("java_exported_urls", new TreeSet<>(Arrays.asList("dubbo://10.0.0.1:20880/a.A?side=provider", "tri://10.0.0.1:50051/a.B")));
        write("java_exception", new RuntimeException("boom", new IllegalStateException("inner")));
        char[] text = new char[0x8000 + 10];
        Arrays.fill(text, 'x');
        text[0x7fff] = '\ud83d';
        text[0x8000] = '\ude00';
        write("java_text", "", "a", new String(text, 0, 31), new String(text, 0, 32), new String(text, 0, 1023),
            new String(text, 0, 1024), new String(text), "\u0000\u007f\u0080\u07ff\u0800\uffff\ud83d\ude00");
        write("java_binary", new byte[0], new byte[15], new byte[16], new byte[1023], new byte[1024], new byte[9000]);
        write("java_numbers", null, true, false, 0, -16, 47, 48, -17, -2048, 2047, 2048, -2049, -262144, 262143,
            262144, -262145, Integer.MIN_VALUE, Integer.MAX_VALUE, 0L, -8L, 15L, 16L, -9L, -2048L, 2047L, 2048L,
            -2049L, -262144L, 262143L, 262144L, -2147483648L, 2147483647L, 2147483648L, Long.MIN_VALUE, Long.MAX_VALUE,
            0.0, 1.0, -128.0, 127.0, 128.0, -32768.0, 32767.0, 32768.0, 0.001, 12.25, -0.5, 3.14159265358979, 1e300,
            Double.NaN, Double.POSITIVE_INFINITY, new Date(0), new Date(894621091000L), new Date(894621060000L));
        write("java_collections", new ArrayList<>(Arrays.asList(1, 2, 3)), new LinkedList<>(Arrays.asList("a")),
            new ArrayList<>(Arrays.asList(1, 2, 3, 4, 5, 6, 7, 8)), new String[] {"x", "y"}, new int[] {1, 2},
            new LinkedList<>(), new TreeMap<>(Map.of("k", "v")), new TreeMap<>(), new HashMap<>(), TimeUnit.SECONDS,
            new BigDecimal("1.5"), Locale.FRANCE);
    }
}
