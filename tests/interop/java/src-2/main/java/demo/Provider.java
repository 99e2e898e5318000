package demo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;

/** The provider of Dubbo 2.6 and 2.7. Prints {"event":"ready",...} once everything is registered. */
public final class Provider {
    private Provider() {}

    private static ServiceConfig<?> service(Args args, String name, String who) {
        return switch (name) {
            case "greeting" -> {
                ServiceConfig<GreetingService> s = new ServiceConfig<>();
                s.setInterface(GreetingService.class);
                s.setRef(n -> "hello " + n + " from " + who);
                yield s;
            }
            case "order" -> {
                ServiceConfig<OrderService> s = new ServiceConfig<>();
                s.setInterface(OrderService.class);
                s.setGroup(args.get("order-group", "shop"));
                s.setVersion(args.get("order-version", "1.0.0"));
                s.setRef(new OrderService() {
                    @Override
                    public String place(String item, int count) {
                        return count + " x " + item + " at " + who;
                    }

                    @Override
                    public int count() {
                        return 0;
                    }
                });
                yield s;
            }
            default -> throw new IllegalArgumentException("no service " + name);
        };
    }

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
        int port = args.getInt("port", 20880);
        String app = args.get("app", "demo-provider");
        ApplicationConfig application = Setup.application(args, "demo-provider");
        RegistryConfig registry = Setup.registry(args);
        ProtocolConfig protocol = new ProtocolConfig(args.get("protocol", "dubbo"), port);
        protocol.setHost(args.get("host", "127.0.0.1"));
        List<ServiceConfig<?>> services = new ArrayList<>();
        for (String name : args.get("services", "greeting,order").split(",")) {
            ServiceConfig<?> s = service(args, name, app + ":" + port);
            s.setId(name); // else the bootstrap keeps the first only
            if (args.has("weight")) {
                s.setWeight(args.getInt("weight", 100));
            }
            if (args.has("timeout")) {
                s.setTimeout(args.getInt("timeout", 1000));
            }
            if (!args.params.isEmpty()) { // --param k=v
                s.setParameters(Args.toMap(args.params));
            }
            services.add(s);
        }
        if (Setup.atApplicationLevel(args)) {
            Object bootstrap = Setup.bootstrap(application, registry, protocol);
            for (ServiceConfig<?> s : services) {
                Setup.bootstrap(s);
            }
            bootstrap.getClass().getMethod("start").invoke(bootstrap);
        } else {
            for (ServiceConfig<?> s : services) {
                s.setApplication(application);
                s.setRegistry(registry);
                s.setProtocol(protocol);
                s.export();
            }
        }
        event("ready", app, port);
        Setup.hold(args);
        event("stopped", app, port);
        System.exit(0);
    }

    private static void event(String what, String app, int port) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", what);
        line.put("app", app);
        line.put("port", port);
        line.put("pid", ProcessHandle.current().pid());
        Json.line(line);
    }
}
