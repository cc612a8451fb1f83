# Finds the gem fairlock of this tree.
$LOAD_PATH.unshift(File.expand_path("../../../clients/ruby/lib", __dir__))
