package demo;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.dubbo.common.URL;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.rpc.Invoker;
import org.apache.dubbo.rpc.RpcException;
import org.apache.dubbo.rpc.RpcInvocation;
import org.apache.dubbo.rpc.cluster.Directory;
import org.apache.dubbo.rpc.service.GenericService;

/**
 * The consumer of Dubbo 2.6 and 2.7; it makes no call.
 * --mode print   prints what the directory holds after --wait seconds, then ends
 * --mode watch   prints it again whenever it changes, for --seconds
 */
public final class Consumer {
    private Consumer() {}

    public static void main(String[] argv) {
        try {
            run(argv);
        } catch (Throwable t) { // Dubbo's threads would keep a process alive that has failed
            t.printStackTrace();
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("error", String.valueOf(t));
            Json.line(line);
            Runtime.getRuntime().halt(1);
        }
    }

    private static void run(String[] argv) throws Exception {
        Args args = new Args(argv);
        Setup.systemProperties(args);
        boolean order = args.get("interface", "greeting").equals("order");
        String name = order ? "demo.OrderService" : "demo.GreetingService";
        ReferenceConfig<GenericService> reference = new ReferenceConfig<>();
        reference.setApplication(Setup.application(args, "demo-consumer"));
        reference.setRegistry(Setup.registry(args));
        reference.setInterface(name);
        reference.setGeneric("true");
        reference.setGroup(args.get("group", order ? "shop" : null));
        reference.setVersion(args.get("version", order ? "1.0.0" : null));
        reference.setCheck(false);
        // A provider that does not speak the protocol must still be listed.
        reference.setLazy(true);
        reference.setProtocol(args.get("protocol", "dubbo"));
        if (args.has("provided-by")) {
            reference.setParameters(Map.of("provided-by", args.get("provided-by", "")));
        }
        if (Setup.atApplicationLevel(args)) {
            Object bootstrap = Setup.bootstrap(reference.getApplication(), reference.getRegistry());
            bootstrap.getClass().getMethod("start").invoke(bootstrap);
        }
        reference.get();
        Field field = ReferenceConfig.class.getDeclaredField("invoker");
        field.setAccessible(true);

        boolean watch = args.get("mode", "print").equals("watch");
        long start = System.currentTimeMillis();
        long end = start + (watch ? args.getInt("seconds", 30) : args.getInt("wait", 5)) * 1000L;
        List<Map<String, Object>> rows = rows(field.get(reference), order);
        String last = null;
        while (System.currentTimeMillis() < end) {
            if (watch && !rows.toString().equals(last)) {
                print(rows, name, System.currentTimeMillis() - start);
                last = rows.toString();
            }
            Thread.sleep(50);
            rows = rows(field.get(reference), order);
        }
        if (!watch) {
            print(rows, name, end - start);
        }
        System.exit(0);
    }

    private static void print(List<Map<String, Object>> rows, String name, long millis) {
        for (Map<String, Object> row : rows) {
            Json.line(row);
        }
        Map<String, Object> end = new LinkedHashMap<>();
        end.put("interface", name);
        end.put("addresses", rows.size());
        end.put("after-ms", millis);
        end.put("at", System.currentTimeMillis());
        Json.line(end);
    }

    /** One row for each address that a directory of the invoker holds. */
    private static List<Map<String, Object>> rows(Object invoker, boolean order) throws Exception {
        Set<Directory<?>> directories = Collections.newSetFromMap(new IdentityHashMap<>());
        find(invoker, directories, Collections.newSetFromMap(new IdentityHashMap<>()));
        RpcInvocation call = new RpcInvocation();
        call.setMethodName(order ? "place" : "greet");
        call.setParameterTypes(new Class<?>[0]);
        call.setArguments(new Object[0]);
        List<Map<String, Object>> rows = new ArrayList<>();
        for (Directory<?> directory : directories) {
            boolean application = directory.getClass().getSimpleName().startsWith("ServiceDiscovery");
            List<? extends Invoker<?>> found;
            try {
                found = directory.list(call);
            } catch (RpcException e) {
                continue; // no provider
            }
            for (Invoker<?> one : found) {
                URL url = one.getUrl();
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("model", application ? "application" : "interface");
                row.put("address", url.getAddress());
                row.put("protocol", url.getProtocol());
                row.put("application", url.getParameter("remote.application", url.getParameter("application")));
                row.put("group", url.getParameter("group"));
                row.put("version", url.getParameter("version"));
                row.put("params", new TreeMap<>(url.getParameters()));
                rows.add(row);
            }
        }
        rows.sort((a, b) -> String.valueOf(a.get("address")).compareTo(String.valueOf(b.get("address"))));
        return rows;
    }

    /** Each version wraps the directory in other invokers, without a way to ask for it. */
    private static void find(Object from, Set<Directory<?>> directories, Set<Object> seen) throws Exception {
        if (from instanceof Directory<?> directory && directory.getClass().getSimpleName().endsWith("Directory")
                && !directory.getClass().getSimpleName().startsWith("Static")) {
            directories.add(directory);
        } else if ((from instanceof Invoker<?> || from instanceof Directory<?>) && seen.add(from)) {
            for (Class<?> type = from.getClass(); type != Object.class; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (!field.getType().isPrimitive()) {
                        field.setAccessible(true);
                        find(field.get(from), directories, seen);
                    }
                }
            }
        }
    }
}
