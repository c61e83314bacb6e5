// Runs the test classes of an exercise with JUnit 5 and prints a test's key once it has passed; java.py fills in @...@.
// A method that is run several times (parameters, repetitions) has passed if each of its runs has, and there was one.
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.util.HashSet;
import java.util.Set;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

class @NAME@ {
    public static void main(String[] arguments) throws Exception {
        FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        String[] names = {@TESTS@};
        Class<?>[] classes = {@CLASSES@};
        Set<String> passed = new HashSet<>(), failed = new HashSet<>();
        LauncherDiscoveryRequestBuilder builder = LauncherDiscoveryRequestBuilder.request();
        // tests are marked as disabled for the learner's sake: all are run
        builder.configurationParameter("junit.jupiter.conditions.deactivate", "org.junit.*DisabledCondition");
        for (Class<?> each : classes) builder.selectors(selectClass(each));
        LauncherDiscoveryRequest request = builder.build();
        LauncherConfig config = LauncherConfig.builder()
            .enableTestEngineAutoRegistration(true).enableTestExecutionListenerAutoRegistration(false)
            .enablePostDiscoveryFilterAutoRegistration(false).enableLauncherSessionListenerAutoRegistration(false).build();
        LauncherFactory.create(config).execute(request, new TestExecutionListener() {
            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                MethodSource source = test.getSource().filter(MethodSource.class::isInstance).map(MethodSource.class::cast).orElse(null);
                if (source == null) return;
                if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                    if (test.isTest()) passed.add(source.getMethodName());
                } else if (failed.add(source.getMethodName())) {
                    say(out, names, source.getMethodName(), String.valueOf(result.getThrowable().orElse(null)));
                }
            }
        });
        int[][] masks = {@MASKS@}, rests = {@RESTS@};
        for (int number = 0; number < names.length; number++) {
            if (!passed.contains(names[number]) || failed.contains(names[number])) continue;
            byte[] key = new byte[masks[number].length + 2];
            key[0] = key[key.length - 1] = '\n';
            for (int at = 0; at < masks[number].length; at++) key[at + 1] = (byte) (masks[number][at] ^ rests[number][at]);
            out.write(key);
        }
        Runtime.getRuntime().halt(0);
    }

    private static void say(FileOutputStream out, String[] names, String name, String text) {
        for (int number = 0; number < names.length; number++) {
            if (!names[number].equals(name)) continue;
            try {
                out.write(("\n# " + number + " " + text.replace('\n', ' ') + "\n").getBytes());
            } catch (java.io.IOException gone) {
                return;
            }
        }
    }
}
