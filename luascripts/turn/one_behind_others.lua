-- The worker wants no batch but the last of the fresh ones that it could take: those before it, `behind` with it, stay.
from = kind == 'P' and -behind or call('ZCOUNT', store, '-inf', '16') + behind - 1
to, x = from, call('ZRANGE', store, int(from), int(from))
if kind == 'P' then told[1] = call('ZSCORE', store, x[1]) end
