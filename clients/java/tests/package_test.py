"""What users of clients/java get: the artefacts have what a public repository demands, and empty
projects that depend on them take a lock, one on Lettuce and one on Jedis. The artefacts are
installed with `mvn install` into a Maven repository of the test. Nothing is downloaded. Exits with
77 if deploy/build-java-client.sh has not built clients/java.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER.parents[1] / "tests/integration"))
from own_server import Server  # noqa: E402

CACHE = pathlib.Path(os.environ.get("MAVEN_REPOSITORY", pathlib.Path.home() / ".m2/repository"))
SECONDS_MAX = 600
POM = "{http://maven.apache.org/POM/4.0.0}"
MODULES = ("fairlock", "fairlock-spring-boot-starter")
# What a public repository demands of a POM.
DEMANDED = ("name", "description", "url", "licenses/license/name", "licenses/license/url",
            "developers/developer/name", "scm/url", "scm/connection", "scm/developerConnection")

PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId>
  <artifactId>shop</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
{dependencies}
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-resources-plugin</artifactId>
        <version>{maven-resources-plugin}</version>
      </plugin>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>{maven-compiler-plugin}</version>
      </plugin>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-dependency-plugin</artifactId>
        <version>{maven-dependency-plugin}</version>
      </plugin>
    </plugins>
  </build>
</project>
"""

# With both ways to make a client; no class of Lettuce is there.
ON_JEDIS = """
import io.fairlock.FairlockClient;
import io.fairlock.Hold;

class Shop {
  public static void main(String[] words) throws Exception {
    try (FairlockClient fairlock = FairlockClient.create("redis://localhost:3247");
        Hold hold = fairlock.lock("order:42")) {
      System.out.println("charges order 42 with token " + hold.token());
    }
    try (FairlockClient fairlock =
            FairlockClient.onJedis().address("redis://localhost:3247").build();
        Hold hold = fairlock.lock("order:43")) {
      System.out.println("charges order 43 with token " + hold.token());
    }
    try {
      Class.forName("io.lettuce.core.RedisClient");
      throw new AssertionError("Lettuce is there");
    } catch (ClassNotFoundException expected) {
    }
  }
}
"""


def maven(folder, repository, *words):
    done = subprocess.run(["mvn", "-o", "-q", "-B", f"-Dmaven.repo.local={repository}", *words],
                          cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise AssertionError(f"mvn {' '.join(words)}: {done.stdout[-5000:]}{done.stderr[-2000:]}")


def xml_blocks(text):
    return re.findall(r"```xml\n(.*?)```", text, re.S)


class Package(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.repository = cls.folder / "repository"
        shutil.copytree(CACHE, cls.repository, copy_function=os.link,
                        ignore=shutil.ignore_patterns("fairlock*"))
        sources = cls.folder / "java"
        shutil.copytree(FOLDER, sources, ignore=shutil.ignore_patterns("target", "jars"))
        maven(sources, cls.repository, "install", "-Dmaven.test.skip=true")
        parent = (FOLDER / "pom.xml").read_text()
        cls.plugins = dict(re.findall(
            r"<artifactId>(maven-\w+-plugin)</artifactId>\s*<version>(.*?)<", parent))
        cls.version = re.search(r"<version>(.*?)<", parent)[1]
        cls.readme = (FOLDER / "README.md").read_text()

    def artefact(self, module, suffix):
        return (self.repository / "io/fairlock" / module / self.version
                / f"{module}-{self.version}{suffix}")

    def names(self, module, suffix):
        with zipfile.ZipFile(self.artefact(module, suffix)) as jar:
            return jar.namelist()

    def test_each_module_has_its_sources_and_javadoc(self):
        for module in MODULES:
            with self.subTest(module):
                classes = self.names(module, ".jar")
                self.assertIn("META-INF/LICENSE", classes)
                places = {name[:-len(".class")] for name in classes
                          if name.endswith(".class") and "$" not in name}
                self.assertGreater(len(places), 3)
                sources = self.names(module, "-sources.jar")
                for place in places - {"io/fairlock/spring/package-info"}:
                    self.assertIn(f"{place}.java", sources)
                self.assertIn("index.html", self.names(module, "-javadoc.jar"))

    def test_the_poms_have_what_a_public_repository_demands(self):
        parent = xml.etree.ElementTree.parse(FOLDER / "pom.xml").getroot()
        for module in MODULES:
            pom = xml.etree.ElementTree.parse(self.artefact(module, ".pom")).getroot()
            for path in DEMANDED:
                where = "/".join(POM + name for name in path.split("/"))
                found = pom.find(where) if pom.find(where) is not None else parent.find(where)
                self.assertTrue(found is not None and found.text.strip(), f"{module}: {path}")

    def run_shop(self, name, source, dependencies, server):
        folder = self.folder / name
        place = folder / "src/main/java"
        place.mkdir(parents=True)
        pom = PROJECT.replace("{dependencies}", dependencies)
        for plugin, version in self.plugins.items():
            pom = pom.replace(f"{{{plugin}}}", version)
        (folder / "pom.xml").write_text(pom)
        (place / "Shop.java").write_text(source.replace("localhost:3247",
                                                        f"127.0.0.1:{server.port}"))
        maven(folder, self.repository, "compile", "dependency:build-classpath",
              "-Dmdep.outputFile=jars")
        jars = (folder / "jars").read_text()
        done = subprocess.run(["java", "-cp", f"target/classes:{jars}", "Shop"], cwd=folder,
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("charges order 42 with token", done.stdout)
        return jars

    def test_an_empty_project_takes_a_lock_on_lettuce(self):
        source = re.search(r"```java\n(.*?)```", self.readme, re.S)[1]
        with Server() as server:
            jars = self.run_shop("lettuce", source, xml_blocks(self.readme)[0], server)
        self.assertIn("lettuce-core", jars)
        self.assertNotIn("jedis", jars)

    def test_an_empty_project_takes_a_lock_on_jedis(self):
        with Server() as server:
            jars = self.run_shop("jedis", ON_JEDIS, xml_blocks(self.readme)[1], server)
        self.assertNotIn("lettuce", jars)
        self.assertIn("jedis", jars)


if __name__ == "__main__":
    if shutil.which("mvn") is None or not (FOLDER / "target/complete").exists():
        print("skipped: deploy/build-java-client.sh has not built clients/java")
        sys.exit(77)
    unittest.main(verbosity=2)
