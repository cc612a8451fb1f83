package io.fairlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs the examples of the README. */
class ReadmeTest extends Bench {

  private static final String FRAME = """
      import io.fairlock.*;
      %s
      import java.io.File;
      import java.time.Duration;
      import java.util.*;
      import java.util.concurrent.*;
      import java.util.concurrent.locks.*;

      class Example {
        static void deploy(Hold hold) { throw new AssertionError("it is taken"); }
        static void write(int page, long token) {}
        static CompletableFuture<String> charged(int order, long token) {
          return CompletableFuture.completedFuture("charged");
        }
        static void run(FairlockClient fairlock) throws Exception {
      %s
        }
        public static void main(String[] words) throws Exception {
          try (FairlockClient fairlock = FairlockClient.create("redis://localhost:3247")) {
            run(fairlock);
          }
        }
      }
      """;

  private static final boolean HAS_LETTUCE = Transport.has("io.lettuce.core.RedisClient");

  @TempDir Path folder;

  private static Path readme() {
    Path here = Path.of("README.md").toAbsolutePath();
    return Files.exists(here) ? here : here.getParent().resolveSibling("README.md");
  }

  @Test
  void theExamplesRunAndLeaveNothing() throws Exception {
    String text = Files.readString(readme());
    Matcher found = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(text);
    int count = 0;
    for (; found.find(); count++) {
      if (HAS_LETTUCE || !found.group(1).contains("RedisURI")) {
        run(found.group(1), folder.resolve(Integer.toString(count)));
      }
    }
    assertTrue(count >= 9, "examples: " + count);
    assertFree("order:42", "deploy:shop", "report", "customer:7", "api:maps", "catalogue");
  }

  private void run(String block, Path target) throws Exception {
    boolean isWhole = block.contains("class ");
    String name = isWhole ? "Shop" : "Example";
    Path source = Files.createDirectories(target).resolve(name + ".java");
    String port = System.getenv("FAIRLOCK_PORT");
    String imports = HAS_LETTUCE ? "import io.lettuce.core.*;" : "";
    Files.writeString(source, (isWhole ? block : FRAME.formatted(imports, block))
        .replace("localhost:3247", "127.0.0.1:" + port)
        // The certificate exists only on the reader's machine.
        .replace("new File(\"/etc/fairlock/ca.pem\")", "new File(\"" + source + "\")"));
    List<String> words = new ArrayList<>(List.of("-proc:none", "-d", target.toString(),
        "-cp", System.getProperty("java.class.path"), source.toString()));
    StringWriter output = new StringWriter();
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var files = compiler.getStandardFileManager(null, null, null)) {
      var task = compiler.getTask(output, files, null, words.subList(0, 5), null,
          files.getJavaFileObjects(source));
      assertTrue(task.call(), () -> output + block);
    }
    if (block.contains("SslOptions")) {
      return; // There is no server with TLS.
    }
    try (URLClassLoader loader = new URLClassLoader(new URL[] {target.toUri().toURL()},
        getClass().getClassLoader())) {
      var main = loader.loadClass(name).getDeclaredMethod("main", String[].class);
      main.setAccessible(true);
      main.invoke(null, (Object) new String[0]);
    }
  }

  @Test
  void theVersionIsThatOfThePom() throws Exception {
    Matcher version = Pattern.compile("<artifactId>fairlock-parent</artifactId>\\s*<version>(.*?)<")
        .matcher(Files.readString(readme().resolveSibling("pom.xml")));
    assertTrue(version.find());
    assertEquals(FairlockClient.VERSION, version.group(1));
    assertContains(Files.readString(readme()), "<version>" + FairlockClient.VERSION + "<");
  }
}
