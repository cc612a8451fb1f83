module fairlock

go 1.19

require gopkg.in/redis.v5 v5.2.9
