"""A page in headless Chromium: what it asks for, what its scripts complain about, how wide it is, a picture of it.

Spoken to by its debugging pipe, so no port is opened.  SPDX-License-Identifier: Apache-2.0"""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

NAMES = ('chromium', 'chromium-browser', 'google-chrome')


def find():
    """Its path; None: it is not here."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser; `with Chromium() as browser`."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def place():  # it reads 3 and writes 4
            ends = os.dup(to_browser), os.dup(from_browser)
            moved = [os.dup(end) if end in (3, 4) else end for end in ends]
            os.dup2(moved[0], 3)
            os.dup2(moved[1], 4)

        self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn,consider-using-with
            [find(), '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars',
             '--disable-background-networking', f'--user-data-dir={self.folder}', '--remote-debugging-pipe', 'about:blank'],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.rest, self.events = 0, b'', []
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = None
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Network', 'Runtime', 'Log'):
            self.call(domain + '.enable')
        return self

    def __exit__(self, *_):
        os.close(self.write_end)
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self):
        while b'\0' not in self.rest:
            piece = os.read(self.read_end, 1 << 16)
            if not piece:
                raise RuntimeError('chromium ended')
            self.rest += piece
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if getattr(self, 'session', None):
            message['sessionId'] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]}')
                return answer['result']
            self.events.append(answer)

    def show(self, path, width, dark=False, height=900):
        """Open a file; {'requests': others than itself, 'errors': of scripts, 'width': of its contents, 'smallest': px of its letters,
        'cut': pictures and words that end outside of the window or lie in something to be scrolled}."""
        self.events.clear()
        url = pathlib.Path(path).resolve().as_uri()
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.call('Page.navigate', url=url)
        until = time.monotonic() + 60
        while self.evaluate('document.readyState') != 'complete' or self.evaluate('location.href') == 'about:blank':
            if time.monotonic() > until:
                raise RuntimeError(f'{path} is not loaded in a minute')
            time.sleep(0.05)
        requests = [event['params']['request']['url'] for event in self.events if event.get('method') == 'Network.requestWillBeSent']
        errors = [event for event in self.events if event.get('method') in ('Runtime.exceptionThrown', 'Log.entryAdded')]
        return {'requests': [request for request in requests if request != url], 'errors': errors,
                'width': self.evaluate('document.scrollingElement ? document.scrollingElement.scrollWidth : 0'),
                'smallest': self.evaluate(SMALLEST), 'cut': self.evaluate(CUT), 'dark': self.evaluate('getComputedStyle(document.body || document.documentElement).backgroundColor')}

    def evaluate(self, expression):
        return self.call('Runtime.evaluate', expression=expression, returnByValue=True)['result'].get('value')

    def picture(self, path):
        """All of the page that is shown, as PNG or, by the name, WebP."""
        size = self.call('Page.getLayoutMetrics')['cssContentSize']
        clip = {'x': 0, 'y': 0, 'width': size['width'], 'height': min(size['height'], 2400), 'scale': 1}
        form = {'format': 'webp', 'quality': 80} if str(path).endswith('.webp') else {'format': 'png'}
        data = self.call('Page.captureScreenshot', **form, captureBeyondViewport=True, clip=clip)['data']
        pathlib.Path(path).write_bytes(base64.b64decode(data))


# The smallest letters that a reader sees, in px of the screen (text in pictures shrinks with them).
SMALLEST = """(() => { let least = 99; const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) { const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest('style,title,script,head')) continue;
    const box = parent.getBoundingClientRect(); if (!box.width) continue;
    let size = parseFloat(getComputedStyle(parent).fontSize); const svg = parent.closest('svg');
    if (svg && svg.viewBox.baseVal.width) size *= svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    least = Math.min(least, size); }
  return least; })()"""

CUT = """[...document.querySelectorAll('body *')].filter(e => { const box = e.getBoundingClientRect();
  return box.width && !e.closest('svg svg *') && (box.left < -1 || box.right > innerWidth + 1); }).map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"""
