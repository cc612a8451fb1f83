"""The client libraries that can be driven, and what is missing for those that cannot."""

import dataclasses
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1] / "integration"))

import own_go  # noqa: E402

CLIENTS = FOLDER.parents[2] / "clients"
NODE_FOLDER = FOLDER.parent / "node"
# A folder in which other versions of the packages of JavaScript are installed.
NODE_LIBRARIES = pathlib.Path(os.environ.get("NODE_LIBRARIES", NODE_FOLDER)).resolve()
BOTH = ("sentinel", "plain")
BUILD_SECONDS_MAX = 300
PROBE_SECONDS_MAX = 20
NODE = os.environ.get("NODE", "node")
RUBY = os.environ.get("RUBY", "/usr/bin/ruby")


@dataclasses.dataclass
class Stack:
    name: str
    package: str                  # what installs the library
    version: list                 # a command that prints it, and fails if the library is missing
    program: list                 # the worker; {build} stands for the folder of built programs
    modes: tuple = BOTH
    build: list = ()              # the command that builds it, in the folder of this file
    environment: dict = dataclasses.field(default_factory=dict)

    def found_version(self):
        """Returns the version of the installed library, or None."""
        try:
            done = subprocess.run(self.version, capture_output=True, text=True, check=False,
                                  timeout=PROBE_SECONDS_MAX, cwd=NODE_LIBRARIES)
        except FileNotFoundError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def prepare(self, folder):
        """Builds the worker if it needs that; returns the command that starts it."""
        if self.build:
            words = [word.format(build=folder) for word in self.build]
            subprocess.run(words, check=True, timeout=BUILD_SECONDS_MAX, cwd=FOLDER,
                           env={**os.environ, "GOCACHE": f"{folder}/go-cache", **self.environment})
        return [word.format(build=folder) for word in self.program]


def node_stack(name, module, program, **environment):
    version = f"console.log(require('./node_modules/{module}/package.json').version)"
    # Node.js looks for packages beside the program.
    beside = ('cp "$1"/*.js "$1"/package.json {build} && '
              'ln -sfn "$2"/node_modules {build}')
    return Stack(name, "deploy/install-node-modules.sh tests/clients/node", [NODE, "-e", version],
                 [NODE, "{build}/" + program], environment=environment,
                 build=["sh", "-c", beside, "sh", str(NODE_FOLDER), str(NODE_LIBRARIES)])


def php_stack(name, package, version):
    return Stack(name, package, ["php", "-r", version], ["php", str(FOLDER / "worker.php"), name])


def own_stack(client, package, version, command, **more):
    """A library of clients/, on this Redis client."""
    return Stack(f"fairlock, {client}", package, version,
                 [sys.executable, "-B", str(FOLDER / "library_worker.py"), *command], **more)


def own_node_stack(client, module):
    version = (f"require('{CLIENTS}/node'); "
               f"console.log(require('{CLIENTS}/node/node_modules/{module}/package.json').version)")
    return own_stack(client, "npm ci && npm run build in clients/node", [NODE, "-e", version],
                     [NODE, f"{CLIENTS}/node/tests/conformance_driver.mjs", client])


def own_java_stack(client, jar, *words):
    return own_stack(client, "Java 17, and deploy/build-java-client.sh", java_version(jar),
                     java_program("Driver", *words))


def java_program(name, *words):
    """A program in Java, which deploy/build-java-client.sh builds with clients/java."""
    return ["/bin/sh", f"{CLIENTS}/java/target/program", name, *words]


def java_version(jar):
    script = ('test -e "$1/target/complete" && ls "$1/fairlock/target/jars" | '
              'sed -n "s/^$2-\\([0-9].*\\)\\.jar$/\\1/p" | grep .')
    return ["sh", "-c", script, "sh", f"{CLIENTS}/java", jar]


PYTHON_VERSION = [sys.executable, "-c", "import redis; print(redis.__version__)"]
PYTHON_DRIVER = [sys.executable, "-B", f"{CLIENTS}/python/tests/conformance_driver.py"]
RUBY_VERSION = [RUBY, "-e", "require 'redis'; puts Redis::VERSION"]
GO_PACKAGES = "golang-go, and deploy/install-go-modules.sh"
GO_VERSION = ["sh", "-c", f"cd {own_go.MODULE} && {own_go.GO} list -f '{{{{.Module.Version}}}}' "
              f"{own_go.REDIS} | tr -d v"]


def go_build(source, program):
    """A program in Go, with the modules of clients/go."""
    return ["sh", "-c", 'cd "$1" && "$2" build -o "$3" "$4"', "sh", str(own_go.MODULE), own_go.GO,
            program, source]



REDIS_CLIENTS = {stack.name: stack for stack in (
    Stack("redis-py", "python3-redis",
          [sys.executable, "-c", "import redis.sentinel; print(redis.__version__)"],
          [sys.executable, "-B", str(FOLDER / "worker.py"), "sync"]),
    Stack("redis-py asyncio", "python3-redis",
          [sys.executable, "-c", "import redis.asyncio.sentinel; print(redis.__version__)"],
          [sys.executable, "-B", str(FOLDER / "worker.py"), "asyncio"]),
    node_stack("ioredis", "ioredis", "worker_ioredis.js"),
    node_stack("node-redis", "redis", "worker_node_redis.js", RESP="2"),
    node_stack("node-redis RESP3", "redis", "worker_node_redis.js", RESP="3"),
    Stack("redis gem", "ruby-redis", RUBY_VERSION, [RUBY, str(FOLDER / "worker.rb")]),
    Stack("go-redis", GO_PACKAGES, GO_VERSION, ["{build}/go_worker"],
          environment=own_go.ENVIRONMENT,
          build=go_build(str(FOLDER / "worker.go"), "{build}/go_worker")),
    Stack("Redis.pm", "libredis-perl", ["perl", "-MRedis", "-e", "print Redis->VERSION"],
          ["perl", str(FOLDER / "worker.pl")]),
    php_stack("predis", "php-cli php-predis",
              "require 'Predis/autoload.php'; echo Predis\\Client::VERSION;"),
    php_stack("phpredis", "php-cli php-redis",
              "class_exists('RedisSentinel') || exit(1); echo phpversion('redis');"),
    Stack("hiredis", "libhiredis-dev", ["pkg-config", "--modversion", "hiredis"],
          ["{build}/c_worker"], modes=("plain",),
          build=["cc", "-O1", "-D_GNU_SOURCE", "-o", "{build}/c_worker", "worker.c", "-lhiredis"]),
)}
OWN = {stack.name: stack for stack in (
    own_stack("redis-py", "python3-redis", PYTHON_VERSION, PYTHON_DRIVER),
    own_stack("redis-py asyncio", "python3-redis", PYTHON_VERSION, [*PYTHON_DRIVER, "--asyncio"]),
    own_node_stack("ioredis", "ioredis"),
    own_node_stack("node-redis", "redis"),
    own_stack("redis gem", "ruby-redis", RUBY_VERSION,
              [RUBY, f"{CLIENTS}/ruby/tests/conformance_driver.rb"]),
    own_java_stack("Lettuce", "lettuce-core"),
    own_java_stack("Jedis", "jedis", "jedis"),
    own_stack("go-redis", GO_PACKAGES, GO_VERSION, ["{build}/go_driver"],
              environment=own_go.ENVIRONMENT,
              build=go_build("./tests/conformance_driver", "{build}/go_driver")),
    Stack("fairlock, Boost.Asio", "libboost1.81-dev libssl-dev",
          ["dpkg-query", "-W", "-f=${Version}", "libboost1.81-dev"], ["{build}/cpp_worker"],
          modes=("nodes", "plain"),
          build=["sh", "-c", 'g++ -std=c++20 -O1 -I "$1/include" -I "$1/src" -o {build}/cpp_worker '
                 'worker.cc "$1"/src/*.cc -lssl -lcrypto -pthread', "sh", f"{CLIENTS}/cpp"]),
)}
ALL = {**REDIS_CLIENTS, **OWN}
