package demo;

import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.RegistryConfig;

/** What the provider and the consumer of Dubbo 2.6 and 2.7 have in common. */
final class Setup {
    private Setup() {}

    /** Must run before the first Dubbo class is touched. */
    static void systemProperties(Args args) {
        System.setProperty("java.net.preferIPv4Stack", "true");
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", args.get("log", "warn"));
        System.setProperty("org.slf4j.simpleLogger.log.org.apache.zookeeper", "error");
        System.setProperty("org.slf4j.simpleLogger.log.org.apache.curator", "off");
        System.setProperty("dubbo.network.interface.ignored", ".*");
        System.setProperty("dubbo.application.logger", "slf4j");
        Args.toMap(args.props).forEach(System::setProperty);
        cleanUpAtExit();
    }

    /** Removes the home folder that run.sh made for this run. */
    static void cleanUpAtExit() {
        String home = System.getenv("INTEROP_HOME_MADE");
        if (home == null || home.isEmpty()) {
            return;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try (Stream<Path> files = Files.walk(Path.of(home))) {
                files.sorted(Comparator.reverseOrder()).forEach(f -> f.toFile().delete());
            } catch (Exception e) {
                // only litter in a temporary folder
            }
        }));
    }

    /** At the application level, which only 2.7 has, and only by its bootstrap. */
    static boolean atApplicationLevel(Args args) {
        return args.get("register-mode", "interface").equals("instance");
    }

    static ApplicationConfig application(Args args, String defaultName) {
        ApplicationConfig app = new ApplicationConfig(args.get("app", defaultName));
        app.setQosEnable(false);
        return app;
    }

    static RegistryConfig registry(Args args) {
        RegistryConfig registry = new RegistryConfig("zookeeper://" + args.get("zk", "127.0.0.1:2181"));
        // 2.6 waits that long for a connection before it takes it for lost.
        registry.setTimeout(args.getInt("zk-timeout", 10000));
        registry.setClient("curator");
        // No file of an earlier run may answer for ZooKeeper: that of this run is new.
        registry.setFile(Path.of("registry.cache").toAbsolutePath().toString());
        if (atApplicationLevel(args)) {
            Map<String, String> params = new LinkedHashMap<>();
            params.put("registry-type", "service");
            registry.setParameters(params);
        }
        return registry;
    }

    /** DubboBootstrap of 2.7, which 2.6 lacks, with these of its parts; not yet started. */
    static Object bootstrap(Object... parts) throws Exception {
        Class<?> type = Class.forName("org.apache.dubbo.config.bootstrap.DubboBootstrap");
        Object bootstrap = type.getMethod("getInstance").invoke(null);
        for (Object part : parts) {
            String name = part.getClass().getSimpleName().replace("Config", "").toLowerCase();
            for (Method method : type.getMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == 1
                        && method.getParameterTypes()[0].isInstance(part)) {
                    method.invoke(bootstrap, part);
                    break;
                }
            }
        }
        return bootstrap;
    }

    /** Blocks until the given time has passed (0: without end). */
    static void hold(Args args) throws Exception {
        int seconds = args.getInt("seconds", 0);
        if (seconds > 0) {
            Thread.sleep(seconds * 1000L);
        } else {
            new java.util.concurrent.CountDownLatch(1).await();
        }
    }
}
