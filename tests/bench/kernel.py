"""Times a Jupyter kernel: for every line of stdin one sample, [ns] to stdout.

    kernel.py start    from the start of a kernel until its first cell was run
    kernel.py cell     execute of print(1) until the kernel is idle again
    kernel.py version  prints "ipykernel N, jupyter_client N"

A first line "pid N" names the kernel of `cell`.
"""
import sys
import time

import ipykernel
import jupyter_client


def run(client):
    """As a caller would who streams output: every message until idle."""
    message = client.execute('print(1)')
    while True:
        got = client.get_iopub_msg(timeout=30)
        if got['parent_header'].get('msg_id') != message:
            continue
        if got['msg_type'] == 'status' and got['content']['execution_state'] == 'idle':
            return


def start():
    manager = jupyter_client.KernelManager(kernel_name='python3')
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    return manager, client


def stop(manager, client):
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def main(what):
    if what == 'version':
        print(f'ipykernel {ipykernel.__version__}, jupyter_client {jupyter_client.__version__}')
        return
    manager = client = None
    if what == 'cell':
        manager, client = start()
        print('pid', manager.provisioner.pid, flush=True)
    try:
        for _ in sys.stdin:
            begin = time.monotonic_ns()
            if what == 'start':
                manager, client = start()
            run(client)
            taken = time.monotonic_ns() - begin
            if what == 'start':
                stop(manager, client)
                manager = None
            print(taken, flush=True)
    finally:
        if manager:
            stop(manager, client)


main(sys.argv[1])
