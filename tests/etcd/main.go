// Command etcd is the newest etcd, which Debian does not have. Only tests run it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
